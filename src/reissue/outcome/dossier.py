"""Who gets a release under which conditions, and who answers for it: what a steward states in `[evidence]`.

Reissue measures a release; a decision about it also needs its context. The fields are those for which ISO/IEC 27559
(context assessment, governance), the motivated intruder test of the ICO and the SATRE specification ask. What is not
stated is not guessed: it is `None` in JSON, and a line to fill in on the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from reissue.errors import SchemaError, nearest
from reissue.schema import Section

__all__ = ["EVERYONE", "MODELS", "Approval", "Dossier", "RecipientRecord", "dossier_of"]

EVERYONE = "everyone"
"""The recipient of a release that is public."""
MODELS = ("public", "licensed", "controlled")
"""Release models: open to anybody; to named recipients under an agreement; inside an environment of the holder."""
_ABOUT = ("organisation", "responsible", "purpose", "reasons", "review")
_OF_RECIPIENT = ("model", "purpose", "environment", "agreement", "means", "intruder")


@dataclass(frozen=True)
class RecipientRecord:
    """A recipient: what they hold, under which conditions, and what an adversary among them could use."""

    name: str
    releases: tuple[int, ...]
    """The numbers of the releases that they hold, this one included."""
    model: str | None = None
    """One of `MODELS`."""
    purpose: str | None = None
    environment: str | None = None
    """Where the data are used, and what protects them there."""
    agreement: str | None = None
    """The agreement, with its ban of re-identification."""
    means: str | None = None
    """What an adversary has: other data, skills, time, motive."""
    intruder: str | None = None
    """What a motivated intruder tried, and what came of it."""


@dataclass(frozen=True)
class Approval:
    """Who decides, and when; filled in by hand, after the record was read."""

    decision: str | None = None
    name: str | None = None
    role: str | None = None
    date: str | None = None


@dataclass(frozen=True)
class Dossier:
    """The context of a release, as its holder states it."""

    recipients: tuple[RecipientRecord, ...] = ()
    organisation: str | None = None
    responsible: str | None = None
    """The person who answers for the release."""
    purpose: str | None = None
    reasons: str | None = None
    """Why these criteria and thresholds."""
    review: str | None = None
    """When it is looked at again at the latest."""
    approval: Approval = field(default_factory=Approval)

    @property
    def open(self) -> tuple[str, ...]:
        """The fields that nobody has filled in, by name; those of a recipient with the recipient's."""
        own = [name for name in _ABOUT if getattr(self, name) is None]
        theirs = [
            f"{name} of {one.name}" for one in self.recipients for name in _OF_RECIPIENT if getattr(one, name) is None
        ]
        signed = [f"approval: {one.name}" for one in fields(Approval) if getattr(self.approval, one.name) is None]
        return (*own, *theirs, *signed)


def dossier_of(section: Section, held: Mapping[str, Sequence[int]]) -> Dossier:
    """Return the dossier of what `[evidence]` states, for recipients and the releases that each holds.

    Raises
    ------
    SchemaError
        If the section has a key that is unknown, or a value of the wrong type.

    """
    stated = section.get("recipients", {})
    if not isinstance(stated, Mapping) or not all(isinstance(one, Mapping) for one in stated.values()):
        raise SchemaError('[evidence] `recipients` has a section for each:  [evidence.recipients."University A"].')
    about: Mapping[str, Any] = _texts(
        "[evidence]", {name: one for name, one in section.items() if name != "recipients"}, _ABOUT
    )
    read = {name: _texts(f'[evidence.recipients."{name}"]', one, _OF_RECIPIENT) for name, one in stated.items()}
    for own in read.values():
        if own.get("model", MODELS[0]) not in MODELS:
            raise SchemaError(f"[evidence] `model` must be one of {', '.join(MODELS)}." + nearest(own["model"], MODELS))
    recipients = tuple(RecipientRecord(name, tuple(numbers), **_known(name, read)) for name, numbers in held.items())
    return replace(Dossier(recipients), **about)


def _known(name: str, read: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """What is stated about a recipient; a release for everyone is public."""
    return {**({"model": MODELS[0]} if name == EVERYONE else {}), **read.get(name, {})}


def _texts(where: str, given: Mapping[str, Any], allowed: Sequence[str]) -> dict[str, str]:
    for name, value in given.items():
        if name not in allowed:
            raise SchemaError(f"{where} has an unknown key '{name}'." + nearest(name, allowed))
        if not isinstance(value, str):
            raise SchemaError(f"{where} `{name}` must be a text.")
    return {name: value for name, value in given.items() if value.strip()}
