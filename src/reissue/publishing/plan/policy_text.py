"""The recommended policy as TOML, with the reasons as comments, and a schema file with it."""

import re
import textwrap
from collections.abc import Mapping

import tomlkit
from tomlkit.exceptions import TOMLKitError

from reissue.errors import InputError
from reissue.publishing.plan.outcome import Plan
from reissue.schema import Section, toml_value

__all__ = ["policy_toml", "with_policy"]


_PROPOSED = "Proposed by `reissue plan`."
_CHANGES = "How values changed in these waves; `rest` is for changes that were not seen."
_NOTES = {
    "require": "what every release must meet",
    "limit": "the largest posterior probability of anybody's value, given all releases",
    "harmless_values": "values that need no protection",
    "sensitive_values": "the values that need protection",
    "suppress": "maximum share of suppressed records",
    "counterfeits": "maximum share of counterfeit records",
    "knowledge": "what the adversary knows: what the form of a release shows, or everyone's groups",
    "prior": "the adversary's prior",
    "values": "published values are true with a chosen probability; estimate with the side table",
    "randomized": "what the adversary knows beside the releases",
    "average": "maximum share of people whose surest guess may be right",
    "attacks": "what every release must withstand, together with all earlier ones",
}


def policy_toml(plan: Plan) -> str | None:
    """Return the `[policy]` section and the `[updates]` that it relies on; None if no setting made a release.

    If nothing is recommended, it is the policy of the setting that came nearest, with a warning.
    """
    best = plan.recommended or plan.nearest
    if best is None:
        return None
    section = best.setting.policy(plan.limits)
    warning = _comment(plan.warning) if plan.warning else []
    lines = [*warning, *_comment(f"{_PROPOSED} {' '.join(plan.sentences)}"), "[policy]"]
    for key, value in section.items():
        note = f"    # {_NOTES[key]}" if key in _NOTES else ""
        lines.append(f"{key} = {toml_value(value)}{note}")
    if plan.updates:
        lines += ["", *_comment(_CHANGES), *_updates_lines(plan.updates)]
    return "\n".join(lines) + "\n"


def _updates_lines(section: Section) -> list[str]:
    """The `[updates]` section; with several sensitive columns, a table for each."""
    if not all(isinstance(one, Mapping) for one in section.values()):
        return ["[updates]", *(f"{key} = {toml_value(value)}" for key, value in section.items())]
    lines = []
    for column, own in section.items():
        lines.append(f"[updates.{tomlkit.key(column).as_string()}]")
        lines += [f"{key} = {toml_value(value)}" for key, value in own.items()]
    return lines


def with_policy(schema: str, policy: str, *, force: bool, updates: bool) -> str:
    """Return a schema file with another policy at its end.

    Parameters
    ----------
    schema
        The text of the schema file.
    policy
        The text of the `[policy]` section, and perhaps of `[updates]`, with their comments.
    force
        Whether a policy that is already there is replaced, with the comments that an earlier plan wrote above it.
    updates
        Whether `policy` has an `[updates]` section, which replaces the one of the schema.

    Raises
    ------
    InputError
        If the schema has a policy and `force` is false.

    """
    if "policy" in tomlkit.parse(schema) and not force:
        raise InputError("The schema has a policy already. --force replaces it, --policy writes another file.")
    for section in ["policy", "updates"] if updates else ["policy"]:
        schema = _without(_OWN_COMMENTS[section].sub("", schema), section)
    return schema.rstrip() + "\n\n" + policy


def _without(text: str, section: str) -> str:
    """A TOML document without a section and its comments; those after a blank line belong to the next section."""
    rest = tomlkit.parse(text)
    if section not in rest:
        return text
    rest.remove(section)
    header, kept, inside = re.compile(rf"\s*\[\s*{section}\s*[.\]]"), [], False
    between: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = header.match(line) is not None
            kept += [] if inside else between
            between = []
        if not inside:
            kept.append(line)
        elif not line.strip() or (between and line.startswith("#")):
            between.append(line)
        else:
            between = []
    try:
        same = tomlkit.parse("".join(kept)).unwrap() == rest.unwrap()
    except TOMLKitError:  # an array over several lines, whose lines begin like headers
        same = False
    return "".join(kept) if same else tomlkit.dumps(rest)


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text.replace("\n", " "), 116)]


def _comments_beginning(*starts: str) -> re.Pattern[str]:
    """Blocks of comment lines whose first line begins with one of these texts."""
    return re.compile(rf"^# (?:{'|'.join(map(re.escape, starts))})[^\n]*\n(?:#[^\n]*\n)*", re.MULTILINE)


_OWN_COMMENTS = {
    "policy": _comments_beginning(_PROPOSED, "WARNING: this policy does not suffice"),
    "updates": _comments_beginning(_CHANGES),
}
"""The comments above a section that were written here, also those of earlier plans."""
