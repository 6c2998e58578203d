"""What the names of columns tell about them, for those who guess a schema."""

import re
import unicodedata
from collections.abc import Mapping

__all__ = ["CALLED", "CODES", "DIRECT", "NOTES", "PERSON", "PROVIDER", "QUASI", "SENSITIVE", "WHOSE", "words_of"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DIRECT = _words("ssn email mail phone telephone mobile fax passport iban mrn nhs uuid guid url surname forename")
"""These point to a person, whatever else the name says."""
PERSON = _words(
    "id identifier patient person name customer client user username member record pid uid no nr number "
    "pseudonym participant respondent subject"
)
"""These do if the name says nothing else."""
WHOSE = _words("patient person customer client user username member pid mrn nhs ssn")
"""Of those, these name a person even where rows share them: visits, claims, tests."""
CALLED = _words("name surname forename email mail phone telephone mobile fax url record no nr number")
"""Of those, these do not say who is the same where rows share them: people share names, and rows have numbers."""
NOTES = _words(
    "remark remarks note notes comment comments commentary memo text freetext narrative description details "
    "observation observations message story letter anamnesis history impression bemerkung bemerkungen notiz notizen "
    "kommentar anmerkung anmerkungen beschreibung remarque remarques commentaire nota notas observaciones opmerking"
)
"""Texts that somebody wrote as they liked, if the column holds texts."""
QUASI: Mapping[str, frozenset[str]] = {
    "is usually known to others": _words(
        "age alter birth born dob birthday birthdate yob sex gender geschlecht race ethnicity ethnic marital married "
        "education degree job occupation profession employment workclass worker relationship household children "
        "language nationality citizenship native"
    ),
    "says where someone lives": _words(
        "zip zipcode postcode postal plz city town village municipality county district region state province country "
        "address street latitude longitude lat lon"
    ),
}
CODES = _words("zip zipcode postcode postal plz")
"""What stands first in them says most."""
SENSITIVE = _words(
    "disease diagnosis diagnoses diag icd condition illness disorder symptom treatment therapy drug medication hiv "
    "salary income wage earnings wealth debt credit religion political party orientation crime offense conviction grade"
)
PROVIDER = _words("hospital clinic provider practice site center centre institution institute branch bank school")


def words_of(name: str) -> frozenset[str]:
    """The words of a name: `dateOfBirth`, `zip_code` and `Código Postal` are two or three each."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return frozenset(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain).lower()))
