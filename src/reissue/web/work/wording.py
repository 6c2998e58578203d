"""Messages of the library as a page says them."""

import re
from pathlib import Path

__all__ = ["for_page"]

_FIELDS = {
    r"say so in the schema: +\[person\] +several_rows = (true|false)\. +": "tick it under the columns. ",
    r"say so in the schema: +\[person\] +several_rows = (true|false)\.?": "tick it under the columns.",
    r" \(\[person\] several_rows = true\)": "",
    r"Bring the table to one row per person, or release it by `reissue anonymize`\.": "Keep one row of each.",
    r"Add the values to the hierarchy, or write  unlisted = \"root\"  under \[taxonomy\.[^\]]*\] to hang them "
    r"directly under the root\. --show-values lists them on screen\.": "Give each a group under the columns.",
    r" The schema has no policy: `reissue plan` finds one for waves that you have, and `reissue init` proposes one for "
    r"a table\.": " Plan a first release: that writes one.",
    r"\[policy\] must say what every release must meet:  require = \"k=5 & l=3\"\.": (
        "The schema does not say what every release must meet."
    ),
    r"\[policy\] ": "The policy: ",
    r"\[taxonomy\.([^\]]*)\]": r"the groups of '\1'",
    r"`reissue plan`( on your waves)?": "a plan",
    r"`?reissue ledger amend`?": "the policy's page",
    r"--newcomers": "tick that hardly anybody returns",
    r"--unchanged": "tick that nothing has changed",
    r"--lookalikes": "tick that they are other people",
    r"(Say what it is, for example|Say which it is:|If it is UTF-16, say so:) "
    r"dialect=Dialect\(encoding='[^']*'\)(, or save it as UTF-8)?": "Save it as UTF-8, or as a workbook",
    r"Try dialect=Dialect\(delimiter='X'\)": "Choose what separates the cells",
    r" \(`budget`\)": "",
    r"newcomers=True": "tick that hardly anybody returns",
    r"unchanged=True": "tick that nothing has changed",
    r"lookalikes=True": "tick that they are other people",
}
"""Advice for Python to advice for the page."""


def for_page(text: str, scratch: Path) -> str:
    """A message for who sees pages: files by their names, and fields instead of arguments."""
    text = re.sub(rf"{re.escape(str(scratch))}/(?:[^/']+/)*", "", text)
    for argument, field in _FIELDS.items():
        text = re.sub(argument, field, text)
    return text
