"""What a result says to people: one view of each, which terminal, page, report and notebook render as it is.

A view is a frozen dataclass of sentences, table cells and the numbers of charts. Whoever renders it escapes and lays
out; it computes nothing and words nothing. JSON is not a view: `as_dict` of the results is its contract.
"""
