"""All attacks' worst cases at once, what attacks tell of themselves, and the words that cases share."""

import polars as pl

from reissue import anonymize, synth
from reissue.attacks import Attack, registered
from reissue.attacks.findings import Findings, Status, not_run
from reissue.attacks.stories import histogram, row_texts, short, shown, value_text
from reissue.publishing.attack import attack
from reissue.words import listed, plural
from tests.attacks.cases import sound


def everything() -> Findings:
    frame = next(synth.Population(seed=5, people=240).months(1))
    frame = frame.with_columns(pl.lit("patient-") + pl.col("patient").cast(pl.String))
    releases = [
        anonymize(frame[:rows], synth.schema(), "k=3 & simple-l=2", method="topdown", seed=1) for rows in (160, 240)
    ]
    quick = [name for name in registered() if name not in {"mechanism", "shilling"}]  # they have tests of their own
    return attack(releases, synth.schema(), only=quick, limits={"equivalence": 3})


def test_whatever_ran_tells_the_same_case_every_time() -> None:
    first, second = everything(), everything()
    assert first == second
    ran = [finding for finding in first if finding.status != Status.NOT_RUN]
    assert {finding.attack for finding in ran} >= {"correspondence", "updates", "coalition", "minimality", "definetti"}
    for finding in ran:
        if finding.attack == "equivalence" and "case" not in finding.details:
            continue  # nothing, or what only several groups of different values say together: no two of them show it
        picture = sound(finding, secrets=["patient-"])["picture"]
        if finding.attack not in {"coalition", "definetti"}:
            assert picture["limit"] == finding.limit


def test_what_was_not_run_tells_no_case() -> None:
    release = pl.DataFrame({name: ["*", "*"] for name in ("age", "zip", "sex", "job")} | {"disease": ["flu", "cold"]})
    idle = attack([release], synth.schema()).of(Status.NOT_RUN)
    assert idle
    assert all("case" not in one.details for one in idle)


def test_attacks_tell_of_themselves_in_plain_sentences() -> None:
    for name in ("correspondence", "updates", "equivalence", "coalition", "minimality", "mechanism", "definetti"):
        its = registered()[name]
        assert its.needs[0].islower()
        assert not its.needs.endswith(".")
        assert all(text[0].isupper() and text.endswith(".") for text in (its.story, *its.prevention))
    bare = Attack("mine", lambda series, _: not_run("mine", series.numbers, "it is a test."), "Does nothing.")
    assert (bare.needs, bare.story, bare.prevention) == ("", "", ())


def test_words() -> None:
    assert [listed(["a"]), listed(["a", "b"]), listed([1, 2, 3])] == ["a", "a and b", "1, 2 and 3"]
    assert [plural(1, "record"), plural(2_000, "record"), plural(2, "person", "people")] == [
        "1 record",
        "2,000 records",
        "2 people",
    ]
    assert [value_text(None), value_text("flu"), value_text("flu\1\0")] == ["(missing)", "flu", "flu, (missing)"]
    assert row_texts(pl.DataFrame({"a": ["flu", None], "b": [1, 2]})) == ["flu, 1", "(missing), 2"]
    assert short("x" * 100) == "x" * 59 + "…"
    assert len(shown({str(place): "x" for place in range(40)})) == 12


def test_a_share_at_the_limit_is_counted_below_it() -> None:
    shares, people = pl.Series([0.0, 0.5, 0.500001, 1.0]).to_numpy(), pl.Series([1, 2, 3, 4]).to_numpy()
    drawn = histogram(shares, people, 0.5, "posterior")
    found = {edge: number for edge, number in zip(drawn["edges"][1:], drawn["counts"], strict=True) if number}
    assert found == {0.05: 1, 0.5: 2, 0.55: 3, 1.0: 4}
