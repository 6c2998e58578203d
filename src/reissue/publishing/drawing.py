"""Randomized values for a candidate of a ledger: drawn from what the release before left, and judged."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, TypeVar

from reissue.data.table import Table
from reissue.errors import DataError, InputError, SchemaError
from reissue.ledger.pack import ENDINGS, Keep
from reissue.ledger.recorded import Recorded, releases_of
from reissue.policy import Policy
from reissue.publishing.after_exact import ExactReleases
from reissue.publishing.drawn_states import ShownValues, ValuesState
from reissue.publishing.posterior import Judged, judge
from reissue.publishing.randomizing import Drawn, draw_values, refuse_method
from reissue.publishing.turn import Turn
from reissue.release.states import pack_state, unpack_state

__all__ = ["drawn_for", "files_of_drawn", "warnings_of_drawn"]

_MARGINS = (None, 4.0, 16.0, 64.0, 1e9)
"""After exact releases, what values of several people tell together cannot be foreseen. So values of people in them are
drawn within such margins of the limits, one after the other until the joint attack finds nobody; by the last they tell
nothing at all."""
V = TypeVar("V", ValuesState, ShownValues)


def drawn_for(turn: Turn, table: Table) -> tuple[Drawn, Judged] | None:
    """The published values of a table, and what adversaries know of the true ones; None where values are exact."""
    ledger, policy = turn.ledger, turn.policy
    last = turn.earlier[-1] if turn.earlier else None
    packed = None if last is None or "values" not in last.files else ledger.kept("values", last)
    _refuse_exact_values(policy, turn.earlier, packed)
    if not policy.draws:
        return None
    refuse_method(policy.method)
    if table.ids is None:
        raise SchemaError("Randomized values are kept for people: the schema must name an identifier.")
    before = None if packed is None else _unpacked(ValuesState, packed)
    exact = exact_before(turn)
    known: dict[str, Any] = {"key": ledger.key.derive("values")[:16], "number": turn.number, "exact": exact}
    shown = {one.number: one.files.get("shown", "") for one in releases_of(turn.entries)}

    def read(number: int) -> ShownValues:
        return _unpacked(ShownValues, ledger.store.read(shown[number]))

    for margin in _MARGINS:
        drawn = draw_values(table, table.ids.to_numpy(), policy.randomized, before, margin=margin, **known)
        judged = judge(drawn, policy, read, exact=exact)
        if exact is None or not len(judged.exposed):
            break
    return drawn, judged


def exact_before(turn: Turn) -> ExactReleases | None:
    """The exact releases with which the series began; None where it began with randomized ones."""
    exact = list(takewhile(lambda one: "values" not in one.files, turn.earlier))
    return ExactReleases.of(turn.ledger, exact, turn.schema, turn.policy) if exact else None


def files_of_drawn(drawn: Drawn, keep: Keep) -> dict[str, str]:
    """What later releases need of the draws, kept."""
    return {
        "values": keep(pack_state(drawn.state), ENDINGS["values"]),
        "shown": keep(pack_state(drawn.shown), ENDINGS["shown"]),
    }


def warnings_of_drawn(drawn: Drawn, policy: Policy, left_out: int) -> list[str]:
    """What whoever sends out randomized values should know."""
    said = []
    if left_out:
        people = "1 person was" if left_out == 1 else f"{left_out:,} people were"
        said.append(f"{people} left out: the posterior of a value would have been above the policy's limit.")
    if len(drawn.state.releases) > 1:
        said.append(
            "Published values persist, so records of a person can be linked over releases: their quasi-identifiers "
            "together may be narrower than in any one release."
        )
    if drawn.strangers:
        rows = "1 record has" if drawn.strangers == 1 else f"{drawn.strangers:,} records have"
        said.append(
            f"{rows} a value that was not known when the series began. It is never published: values of other people "
            "stand in its place. Values to come can be listed beforehand, in the taxonomy of the column."
        )
    assumed, listed = policy.randomized.changes, bool(drawn.table.schema.updates)
    if drawn.changed is not None and not listed and not any(_near(drawn.changed, one) for one in assumed):
        shares = " or ".join(f"{one:.1%}" for one in assumed)
        said.append(
            f"Of the people of the release before {drawn.changed:.1%} have another value now; the policy assumes "
            f"{shares} ([policy.randomized] `changes`). A new series should say how values change, in [updates]."
        )
    return said


def _near(changed: float, assumed: float) -> bool:
    """Whether a share of people is about the assumed one, within a factor of three."""
    return assumed / 3 <= changed <= 3 * max(assumed, 0.01)


def _unpacked(kind: type[V], packed: bytes) -> V:
    """A state of randomized values, which cannot be made again."""
    state = unpack_state(kind, packed)
    if state is None:
        raise DataError(
            "What this series of randomized values needs for its next release was kept by another version of Reissue, "
            "in a form that this one does not read. Continue the series with the version that wrote it."
        )
    return state


def _refuse_exact_values(policy: Policy, earlier: Sequence[Recorded], packed: bytes | None) -> None:
    """Stop where a series would go from randomized to exact values."""
    if not policy.draws and packed is not None:
        raise InputError(
            f"Release {earlier[-1].number} of this series has randomized values. Publishing values as they are after "
            'it would undo that protection: keep  values = "randomized"  in the policy.'
        )
