"""Reading: what uploaded files hold, and what their columns seem to be."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reissue.files.dialect import Dialect
from reissue.language import text
from reissue.proposing import look as look_at
from reissue.web.work import Tell

__all__ = ["look"]


def look(given: Mapping[str, Any], _: Path, tell: Tell) -> Mapping[str, Any]:
    """What the files hold and what their columns seem to be."""
    tell(0.1, text("reading"))
    return look_at([Path(one) for one in given["published"]], dialect=Dialect(given["delimiter"])).as_dict()
