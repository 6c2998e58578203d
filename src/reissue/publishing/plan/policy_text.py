"""The recommended policy as TOML, with the reason in words."""

import textwrap

import tomlkit

from reissue.errors import InputError
from reissue.publishing.plan.outcome import Plan
from reissue.schema import toml_value

__all__ = ["policy_toml", "with_policy"]


def policy_toml(plan: Plan) -> str | None:
    """The `[policy]` section, and the `[updates]` that it counts on; None where no setting made a release.

    Where nothing is recommended it is the policy of the setting that came nearest, with a warning.
    """
    best = plan.recommended or plan.nearest
    if best is None:
        return None
    section = best.setting.policy(plan.limits)
    warning = _comment(plan.warning) if plan.warning else []
    lines = [*warning, *_comment("Proposed by `reissue plan`. " + " ".join(plan.sentences)), "[policy]"]
    said = {
        "require": "what every release must meet",
        "limit": "nobody may be linked to a value more surely, all releases solved for everyone at once",
        "harmless_values": "values that need no protection",
        "sensitive_values": "the values that need protection",
        "suppress": "the share of the rows that may be left out",
        "counterfeits": "the most records of nobody, as a share of the records",
        "knowledge": "what readers know: what the form of a release shows, or everyone's groups",
        "prior": "what readers expect of people",
        "attacks": "what every release must withstand, together with all earlier ones",
    }
    for key, value in section.items():
        note = f"    # {said[key]}" if key in said else ""
        lines.append(f"{key} = {toml_value(value)}{note}")
    if plan.updates:
        lines += [
            "",
            *_comment("How values changed in these waves; `rest` is for changes that were not seen."),
            "[updates]",
        ]
        lines += [f"{key} = {toml_value(value)}" for key, value in plan.updates.items()]
    return "\n".join(lines) + "\n"


def with_policy(schema: str, policy: str, *, force: bool, updates: bool) -> str:
    """The text of a schema file with another policy at its end; one that is there is replaced only by force."""
    document = tomlkit.parse(schema)
    if "policy" in document and not force:
        raise InputError("The schema has a policy already. --force replaces it, --policy writes another file.")
    for section in ("policy", *(["updates"] if updates else [])):
        if section in document:
            document.remove(section)
    return tomlkit.dumps(document).rstrip() + "\n\n" + policy


def _comment(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text.replace("\n", " "), 116)]
