"""Changes of a schema or policy that can be tried at once: they make a release safer, or cheaper."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import tomlkit

from reissue import methods
from reissue.data.table import Table
from reissue.methods.registry import Trait
from reissue.policy import Policy
from reissue.schema import Role, Schema, toml_value
from reissue.taxonomy.codings import Hierarchy

__all__ = ["Advice", "Change", "cheaper_changes", "cost_order", "safer_changes"]

_MORE_SUPPRESSED, _MOST_SUPPRESSED = 0.03, 0.2
"""Shares of the rows: how many more a change proposes, and where it ends."""
_MOST_REPAIR = 0.5
"""Information loss by repair, where a change ends: half of the table."""
_NUMBER = re.compile(r"\b(k|l|simple-l|m-unique)=(\d+)")
_BY_ITSELF = "by_itself"


@dataclass(frozen=True)
class Change:
    """A change of the schema file that may help, in words and as sections of the file."""

    sentence: str
    """As an order: `Leave 'zip' out`."""
    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`columns`, `taxonomy` and `policy`, as far as they change."""

    @property
    def text(self) -> str:
        """What the schema file says then."""
        lines = []
        for section, keys in self.sections.items():
            lines += [f"[{section}]", *(f"{tomlkit.key(key).as_string()} = {toml_value(keys[key])}" for key in keys)]
        return "\n".join(lines)

    def on(self, schema: Schema) -> Schema:
        """The schema with the change."""
        roles, said = self.sections.get("columns", {}), self.sections.get("taxonomy", {})
        columns = dict.fromkeys(said, Role.QUASI)
        given = Schema.read({"columns": columns, "taxonomy": said}).hierarchies if said else {}
        changed = schema.with_roles(roles)
        hierarchies = {**changed.hierarchies, **given}
        policy = {**schema.policy, **self.sections.get("policy", {})}
        return replace(changed, hierarchies=hierarchies, policy=policy)


@dataclass(frozen=True)
class Advice:
    """What would help: a sentence, and the change or the command that does it, where there is one."""

    sentence: str
    change: Change | None = None
    command: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As plain texts, with what the schema file says then."""
        changed = None if self.change is None else {**asdict(self.change), "text": self.change.text}
        return {"sentence": self.sentence, "change": changed, "command": self.command}


def safer_changes(policy: Policy) -> tuple[Change, ...]:
    """Changes by which fewer people are exposed, the least first: more suppressed records, larger groups."""
    found, text = [], str(policy.require)
    if _suppresses(policy) and policy.suppress < _MOST_SUPPRESSED:
        found.append(_suppressing(policy))
    larger = re.sub(r"\bk=(\d+)", lambda k: f"k={2 * int(k[1])}", text)
    if larger != text:
        found.append(Change(f"Ask for {larger} instead of {text}", {"policy": {"require": larger}}))
    if Trait.JOINABLE in methods.find(policy.method).traits and policy.repair < _MOST_REPAIR:
        more = round(min(2 * policy.repair + 0.05, _MOST_REPAIR), 3)
        words = f"Let the repair of a release lose {more:.0%} more instead of {policy.repair:.0%}"
        found.append(Change(words, {"policy": {"repair": more}}))
    return tuple(found)


def cheaper_changes(table: Table, policy: Policy, losses: Mapping[str, float], *, first: bool) -> tuple[Change, ...]:
    """Changes by which less may be lost, the most promising first.

    Quasi-identifiers can be left out only before a series begins.
    """
    names = cost_order(table, losses)
    coarser = [change for change in (_coarser(table, name) for name in names[:2]) if change is not None]
    dropped = [
        Change(f"Leave '{name}' out", {"columns": {name: str(Role.DROP)}})
        for name in (names[:3] if first and len(names) > 1 else ())
    ]
    suppressing = [_suppressing(policy)] if _suppresses(policy) and policy.suppress < _MOST_SUPPRESSED else []
    return (*dropped[:1], *coarser[:1], *_weaker(policy), *dropped[1:], *coarser[1:], *suppressing)


def cost_order(table: Table, losses: Mapping[str, float]) -> list[str]:
    """Quasi-identifiers by what they cost: those that lose most first, of equal ones that of the most values."""
    values = dict(zip(table.schema.quasi, table.sizes, strict=True))
    return sorted(table.schema.quasi, key=lambda name: (-round(losses.get(name, 0.0), 2), -values[name]))


def _suppresses(policy: Policy) -> bool:
    return Trait.SUPPRESSES in methods.find(policy.method).traits


def _suppressing(policy: Policy) -> Change:
    share = round(min(policy.suppress + _MORE_SUPPRESSED, _MOST_SUPPRESSED), 3)
    words = f"Suppress up to {share:.0%} of the records instead of {policy.suppress:.0%}"
    return Change(words, {"policy": {"suppress": share}})


def _weaker(policy: Policy) -> list[Change]:
    """A policy that asks for less in one respect each; what it gives away is attacked as ever."""
    text, found = str(policy.require), list[Change]()
    if policy.draws:
        return found  # values are protected by chance: the requirement protects who is who
    if policy.options.get(_BY_ITSELF) is True:
        options = {name: value for name, value in policy.options.items() if name != _BY_ITSELF}
        words = "Judge cohorts that look alike together instead of each one by itself"
        found.append(Change(words, {"policy": {"options": options}}))
    parts = [str(part) for part in policy.require.parts()]
    for place, part in enumerate(parts):
        less = _NUMBER.sub(lambda one: f"{one[1]}={_fewer(one[1], int(one[2]))}", part)
        kept = [less] if _NUMBER.search(part) else []
        require = " & ".join([*parts[:place], *kept, *parts[place + 1 :]])
        if less != part or (not kept and require):
            found.append(Change(f"Ask for {require} instead of {text}", {"policy": {"require": require}}))
    return found


def _fewer(name: str, number: int) -> int:
    """Half as many records, or one value less."""
    return max(number // 2 if name == "k" else number - 1, 2)


def _coarser(table: Table, name: str) -> Change | None:
    """Publish a column with its coarsest step only, or texts that are shown or hidden by their first characters."""
    coding = table.codings[table.schema.quasi.index(name)]
    hierarchy = table.schema.hierarchy(name)
    said = _steps(hierarchy, [str(text) for text in coding.leaves.head(200).to_list()], coding.taxonomy.size)
    return None if said is None else Change(f"Publish '{name}' {said[0]}", {"taxonomy": {name: said[1]}})


def _steps(hierarchy: Hierarchy, texts: Sequence[str], values: int) -> tuple[str, dict[str, Any]] | None:
    if len(hierarchy.ranges) > 1:
        width = hierarchy.ranges[-1]
        return f"in ranges of {width:g} only", {"ranges": [width]}
    if len(hierarchy.prefix) > 1:
        kept = hierarchy.prefix[-1]
        return f"by its first {'character' if kept == 1 else f'{kept} characters'} only", {"prefix": [kept]}
    lengths = {len(text) for text in texts}
    if hierarchy.kind == "flat" and values > 20 and len(lengths) == 1 and min(lengths) > 2:
        steps = sorted({max(min(lengths) // 2, 1), 1}, reverse=True)
        return f"by its first characters ({', '.join(map(str, steps))})", {"prefix": steps}
    return None
