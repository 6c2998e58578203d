"""What every method must keep: run on small tables, or, if it is stateful, on a small series."""

from collections.abc import Sequence
from dataclasses import replace

from reissue import synth
from reissue.errors import InputError, NotMetError
from reissue.methods import Algorithm, find
from reissue.publishing.series import anonymize_series
from reissue.schema import Options
from reissue.testing.contract import expect
from reissue.testing.releases import check_release, samples
from reissue.testing.tables import small_tables

__all__ = ["check_algorithm"]


def check_algorithm(
    name: str,
    *,
    requirements: Sequence[str] | None = None,
    options: Options | None = None,
    tables: int = 30,
    seed: int = 0,
    may_refuse: bool = False,
) -> None:
    """Check a registered method: releases meet the requirement, the same seed gives the same one, nothing is lost.

    `requirements` are texts that it is made for; by default some of every kind. A method that generalizes may refuse
    only what no release can meet; one that cannot promise that says so with `may_refuse`.
    """
    method = find(name)
    expect(method.summary.endswith("."), "the summary of a method is a sentence")
    expect(all(option.help for option in method.options.values()), "every option says what it does")
    texts = list(requirements or ([f"{method.m_requirement}=2"] if method.m_requirement else samples()))
    if method.stateful:
        _check_series(method, texts, options or {})
        return
    made = 0
    for number, (frame, schema) in enumerate(small_tables(tables, seed)):
        text, suppress = texts[number % len(texts)], 0.2 * (number % 3 == 0)
        made += check_release(name, frame, schema, text, suppress, may_refuse=may_refuse, **(options or {})) is not None
    expect(made, "a method makes a release of some of the tables")


def _check_series(method: Algorithm, texts: Sequence[str], options: Options) -> None:
    """Three months of invented patients whose diseases stay: made twice, the same both times."""
    months = list(synth.Population(seed=5, people=150).months(3))
    schema, made = replace(synth.schema(), updates={}), 0
    first = months[0].select("patient", "disease")
    for month in months[1:]:
        first = first.vstack(month.select("patient", "disease")).unique("patient", keep="first", maintain_order=True)
    tables = [month.drop("disease").join(first, on="patient", maintain_order="left") for month in months]
    for text in texts:
        try:
            releases, again = (
                anonymize_series(tables, schema, text, method=method.name, seed=3, **options) for _ in range(2)
            )
        except (InputError, NotMetError):
            continue
        made += 1
        for one, other in zip(releases, again, strict=True):
            same = all(one.tables[name].equals(other.tables[name]) for name in one.tables)
            expect(same, "the same seed gives the same release")
            expect(all(schema.identifier not in frame.columns for frame in one.tables.values()), "no identifier is out")
    expect(made, "a stateful method makes a series for one of the requirements")
