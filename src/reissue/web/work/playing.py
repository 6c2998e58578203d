"""The demo: a year of invented patients, published month by month and through a ledger."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reissue import demo
from reissue.language import text
from reissue.web.work import Tell

__all__ = ["play"]


def play(given: Mapping[str, Any], _: Path, tell: Tell) -> Mapping[str, Any]:
    """Play both acts into a folder; its ledger can be opened then."""
    story = demo.play(
        given["out"], force=True, progress=lambda share: tell(share, text("publishing a year of invented patients"))
    )
    return {"ledger": str(story.out / "ledger")}
