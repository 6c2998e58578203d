"""What the names of columns tell about them, for those who guess a schema."""

from collections.abc import Mapping

__all__ = ["CALLED", "CODES", "DIRECT", "NOTES", "PERSON", "PROVIDER", "QUASI", "SENSITIVE", "WHOSE"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


DIRECT = _words(
    "ssn email mail phone telephone mobile fax passport iban mrn nhs uuid guid url surname forename lastname firstname "
    "nachname vorname familienname rufname telefon handy mobil mailadresse versichertennummer versicherungsnummer "
    "sozialversicherungsnummer ausweisnummer steuernummer krankenversichertennummer nom prenom telephone courriel nir "
    "apellido apellidos nombre telefono correo dni cognome cellulare achternaam voornaam bsn"
)
"""Words that point to a person, whatever else the name says."""
PERSON = _words(
    "id identifier patient person name customer client user username member record pid uid no nr number pseudonym "
    "participant respondent subject nummer lfd lfdnr laufnummer patienten patientennummer patientenid patientnr "
    "patientennr pat patnr patid fallnr fallid kundennr personennummer "
    "patientin kunde kundennummer personalnummer fallnummer mitarbeiter mitglied mitgliedsnummer versicherte "
    "versicherter aktenzeichen pseudonyme numero paciente cliente"
)
"""Words that point to a person if the name says nothing else."""
WHOSE = _words(
    "patient pat person customer client user username member pid mrn nhs ssn patientennummer patientenid patientnr "
    "kundennummer personalnummer mitgliedsnummer versichertennummer"
)
"""Of those, words that identify a person even if rows share values: visits, claims, tests."""
CALLED = _words(
    "name surname forename lastname firstname nachname vorname familienname rufname nom prenom apellido apellidos "
    "nombre cognome achternaam voornaam email mail phone telephone mobile telefon handy mobil fax url record no nr "
    "number nummer lfd lfdnr laufnummer"
)
"""Of those, words that do not identify a person if rows share values: people share names, and rows have numbers."""
NOTES = _words(
    "remark remarks note notes comment comments commentary memo text freetext narrative description details "
    "observation observations message story letter anamnesis history impression bemerkung bemerkungen notiz notizen "
    "kommentar anmerkung anmerkungen beschreibung freitext anamnese verlauf befundtext hinweis remarque remarques "
    "commentaire nota notas observaciones opmerking"
)
"""Words for free text, if the column holds text."""
QUASI: Mapping[str, frozenset[str]] = {
    "it is usually known to others": _words(
        "age alter birth born dob birthday birthdate yob sex gender geschlecht geschl race ethnicity ethnic marital "
        "married education degree job occupation profession employment workclass worker relationship household "
        "children language nationality citizenship native geburt geburtsdatum geburtstag geburtsjahr gebdat geb "
        "altersgruppe familienstand beruf tatigkeit bildung bildungsabschluss schulabschluss kinder sprache "
        "nationalitat staatsangehorigkeit herkunft haushalt naissance sexe profession nacimiento sexo edad "
        "geboortedatum geslacht"
    ),
    "it says where someone lives": _words(
        "zip zipcode postcode postal plz city town village municipality county district region state province country "
        "address street latitude longitude lat lon postleitzahl ort wohnort stadt gemeinde kreis landkreis bezirk "
        "bundesland land adresse anschrift strasse hausnummer ville ciudad woonplaats"
    ),
}
CODES = _words("zip zipcode postcode postal plz postleitzahl")
"""Words for codes whose first characters say most."""
SENSITIVE = _words(
    "disease diagnosis diagnoses diag icd condition illness disorder symptom treatment therapy drug medication hiv "
    "salary income wage earnings wealth debt credit religion political party orientation crime offense conviction "
    "grade diagnose diagnosen hauptdiagnose nebendiagnose krankheit erkrankung therapie behandlung medikament "
    "medikation gehalt einkommen lohn verdienst brutto netto vermogen schulden konfession partei straftat urteil "
    "diagnostic maladie salaire revenu diagnostico enfermedad salario sueldo ingreso"
)
PROVIDER = _words(
    "hospital clinic provider practice site center centre institution institute branch bank school krankenhaus klinik "
    "praxis filiale zweigstelle einrichtung standort schule"
)
