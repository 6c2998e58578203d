"""Thresholds that people are asked to keep to, by number or by purpose, each with where it comes from."""

from dataclasses import dataclass

from reissue.errors import InputError, nearest

__all__ = ["PRESETS", "Preset", "find_preset"]


@dataclass(frozen=True)
class Preset:
    """A threshold: the smallest number of people among whom a record may be found."""

    name: str
    people: int
    """The largest risk is one in this many."""
    source: str
    """Where the number comes from, as far as it was read."""

    @property
    def largest(self) -> float:
        """The largest risk of a record."""
        return 1 / self.people


_ONTARIO = (
    "De-Identification Guidelines for Structured Data, Information and Privacy Commissioner of Ontario, 2025, by a "
    "summary of it (managedprivacy.ca): {} invasion of privacy, {}, roughly groups of {}. The guideline itself was not "
    "read"
)
_OECD = "threshold rule: some agencies require five respondents in a cell, others three (OECD glossary, ID 7010)"

PRESETS = {
    one.name: one
    for one in (
        Preset("0.33", 3, "commonly used for trusted recipients; source not read"),
        Preset("0.2", 5, "commonly used; source not read"),
        Preset("0.09", 11, _ONTARIO.format("low", "0.09", 11)),
        Preset("0.075", 14, _ONTARIO.format("medium", "0.075", 15)),
        Preset(
            "0.05",
            20,
            "public file of hospital discharges, threshold between 0.04 and 0.05 (El Emam et al. 2011, abstract); "
            + _ONTARIO.format("high", "0.05", 20),
        ),
        Preset("cell-3", 3, _OECD),
        Preset("cell-5", 5, _OECD),
        Preset("cell-10", 10, "Washington State Department of Health, small numbers: non-zero counts below ten"),
        Preset("cell-11", 11, "CMS cell size suppression policy (ResDAC, 2024): no cell of 1 to 10"),
    )
}


def find_preset(name: str) -> Preset:
    """The preset of this name."""
    if name not in PRESETS:
        raise InputError(f"There is no preset of that name. There are: {', '.join(PRESETS)}." + nearest(name, PRESETS))
    return PRESETS[name]
