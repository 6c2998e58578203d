"""Published tables of counts: what their cells may be, and what they give away without anybody's register.

- `cells`: the text of a cell as an interval, with marks of protected cells and rounding;
- `recognition`: whether a table counts people, or has a row for each;
- `reading`: long, wide and stacked tables, their totals, and the tables of one file;
- `table`: a table of counts as intervals, and its margins;
- `bounds`: the exact bounds of every cell, by integer programming;
- `differences`: what the difference of two tables isolates.
"""

from reissue.contingency.cells import UNBOUNDED, CountRules
from reissue.contingency.reading import count_tables
from reissue.contingency.table import CountTable, TableMargin

__all__ = ["UNBOUNDED", "CountRules", "CountTable", "TableMargin", "count_tables"]
