"""The attack itself: what the reader sees, how values change, what follows, and the finding."""

from reissue.attacks._base import Knowledge, attack
from reissue.attacks._series import Series
from reissue.attacks.joint.beliefs import believe
from reissue.attacks.joint.finding import NAME, Judged, finding_of
from reissue.attacks.joint.sight import see
from reissue.attacks.joint.update_model import update_model
from reissue.findings import Finding

__all__ = ["joint"]


@attack(
    NAME,
    "Solves all groups of all releases for everyone at once: how surely is each person linked to a value?",
    insiders=True,
    needs="to know people: our own releases, files that kept the identifier, or a register (`--people`, `--members`)",
    story=(
        "Someone knows who is in the releases and finds the groups that each person can be in. Every group is an "
        "equation about its members' values, and all releases are equations about the same people: solved together "
        "they say how likely each value is for everyone, now and in the past."
    ),
    prevention=(
        "Let `reissue plan` choose the method on your own waves: it takes the cheapest that withstands this attack.",
        "Put a `limit` into the policy: a release that tells more about anybody is refused.",
    ),
)
def joint(series: Series, knowledge: Knowledge) -> Finding:
    """Everyone's posterior in all releases together."""
    crowd = see(series, knowledge)
    chosen = update_model(crowd, series.schema)
    beliefs = believe(
        crowd.observations,
        chosen.model,
        exact=series.exact,
        progress=lambda done: knowledge.progress(0.1 + 0.9 * done),
    )
    return finding_of(Judged.of(crowd, beliefs, chosen), series)
