"""Whether what is said about how values change can be true of these releases."""

from collections.abc import Sequence

from reissue.attacks.joint.beliefs import Beliefs
from reissue.attacks.joint.update_model import Chosen
from reissue.errors import CannotRunError
from reissue.kernels.everyone.observations import Observation, people_in

__all__ = ["check_fit", "misfits"]

_ELSEWHERE = 0.015
"""The share of records that may be left unexplained; measured: below 0.005, and 0.019 to 0.17 where values change."""
_CONTRADICTED = 0.05
"""The share of people whose groups may contradict each other: records that were linked wrongly are fewer."""
_RECORDS = 200
"""In fewer records a single person who is linked wrongly could be as much."""


def misfits(beliefs: Beliefs, series: Sequence[Observation]) -> bool:
    """Whether no world shows the published counts."""
    records = sum(int(seen.slot_count.sum()) for seen in series)
    return records >= _RECORDS and (beliefs.scaled.elsewhere > _ELSEWHERE or _astray(beliefs, series) > _CONTRADICTED)


def check_fit(beliefs: Beliefs, series: Sequence[Observation], chosen: Chosen) -> None:
    """Stop where no world shows the published counts: what was said about how values change is then not so."""
    if not chosen.said or not misfits(beliefs, series):
        return
    said = "what `[updates]` of the schema says" if chosen.source == "schema" else "that values stay"
    astray = _astray(beliefs, series)
    how = (
        f"{beliefs.scaled.elsewhere:.1%} of the records would have to be elsewhere"
        if astray <= _CONTRADICTED
        else f"{astray:.1%} of the people would have changed in a way that it rules out"
    )
    raise CannotRunError(
        f"{said} contradicts these releases: {how}. Say in `[updates]` what can happen, or leave it out, and how "
        "values change is learned (in a ledger: `reissue ledger amend`)."
    )


def _astray(beliefs: Beliefs, series: Sequence[Observation]) -> float:
    """The share of people whose groups contradict each other."""
    return len(beliefs.contradicted) / max(len(people_in(series)), 1)
