"""Randomized values that persist: each published value is true with a chosen probability, drawn once, and kept.

What is here works on integer codes, with NumPy and SciPy alone. It decides how values are drawn so that no adversary of
a policy is surer of any value, present or past, than the limit, whatever is drawn and whoever leaves
(docs/concepts/randomized-values.md has the theorem).

- `Adversary`, `ProtectedEvents`: from whom, and what. `mechanism` builds the first matrices and what is foreseen.
- `publish` draws one release. It takes the rows of a release (pseudonym, true value, class) and what the release before
  left, and returns the published values, the next `Remembered`, and for each adversary a `Judgement`.
- `grow_classes`, `noisy_counts` and `shares_of` make classes and priors that give nobody away.
- `side_table` summarizes a release for analysts (`side` has the public format, and what publishing must do for it);
  `counts`, `mean` and `regression` estimate from it.
- `exact_posteriors` computes all posteriors of a series again from the public record, by other code.

**What a method, a gate and a ledger hand over and keep.**

- A *method* groups quasi-identifiers as ever, hands over pseudonyms (64-bit integers), value codes and classes, and
  puts `Randomized.published` in place of the sensitive column before the release is written. Groups may depend on
  quasi-identifiers and published values only. Codes and classes are numbered alike in all releases of a series.
- A *ledger* keeps one `Remembered` for each sensitive column, replaced by each release: per person a pseudonym, the
  published value, a keyed tag of the true value (not the value), the release of the last sight, and a row of the table
  of public beliefs, whose size does not grow with the number of releases. A release that was drawn but not published
  must leave it as it was; made again with the same key it is the same release.
- A *gate* reads `Judgement.score`: the largest posterior as a share of its limit, exact for the present, exact or a
  bound above for the past, without past values of people whose published value is kept for good (`Mechanism.fresh`).
  Above 1 is possible for people whose prior alone is above the limit (`prior_above`), and where a bound is not tight;
  then `exact_posteriors` decides. The mechanism itself never needs to suppress.
- Priors, changes and departure rates must not depend on the very values that are protected, unless by a noisy count:
  the matrices that follow from them are public. See decision 0260.
"""

from reissue.randomized.adversaries import Adversary, ProtectedEvents
from reissue.randomized.audit import PublicRecord, exact_posteriors, log_odds, public_record
from reissue.randomized.classes import ValueClasses, grow_classes, noise_of, noisy_counts, shares_of
from reissue.randomized.estimate import Inference, counts, mean, regression
from reissue.randomized.series import (
    Judgement,
    Mechanism,
    Randomized,
    Remembered,
    StartingBeliefs,
    TrueValues,
    mechanism,
    publish,
    remembered_from,
)
from reissue.randomized.side import CLASS, SideTable, side_table

__all__ = [
    "CLASS",
    "Adversary",
    "Inference",
    "Judgement",
    "Mechanism",
    "ProtectedEvents",
    "PublicRecord",
    "Randomized",
    "Remembered",
    "SideTable",
    "StartingBeliefs",
    "TrueValues",
    "ValueClasses",
    "counts",
    "exact_posteriors",
    "grow_classes",
    "log_odds",
    "mean",
    "mechanism",
    "noise_of",
    "noisy_counts",
    "public_record",
    "publish",
    "regression",
    "remembered_from",
    "shares_of",
    "side_table",
]
