"""What coalitions see, against counting records group by group; and what providers may be told."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reissue as ri
from reissue.errors import InputError
from reissue.papers.coalition.records import read_records
from reissue.papers.coalition.views import may_be_told, view_of, view_of_release
from reissue.published import read_published
from reissue.requirements import parse

SCHEMA = ri.Schema.of_columns(quasi=["age"], sensitive=["disease"], provider="hospital", several_rows=False)
ROWS = st.lists(
    st.tuples(st.sampled_from("ABC"), st.sampled_from(["20-30", "31-40"]), st.sampled_from(["flu", "gout", "cold"])),
    min_size=2,
    max_size=14,
)


@given(rows=ROWS, k=st.integers(1, 4), several=st.integers(1, 3))
def test_coalitions_see_what_counting_gives(rows: list[tuple[str, str, str]], k: int, several: int) -> None:
    frame = pl.DataFrame(rows, schema=["hospital", "age", "disease"], orient="row")
    records = read_records(read_published(frame, SCHEMA), SCHEMA)
    found = view_of(records, parse(f"k={k} & l={several}"))
    assert dict(found.contributed) == dict(frame["hospital"].value_counts().iter_rows())
    for one in found.coalitions:
        own = frame["hospital"].is_in(one.members)
        shared, broken, people = [], 0, 0
        for group in sorted(set(frame["age"])):
            left = frame.filter(~own & (frame["age"] == group))
            if left.height and frame.filter(own & (frame["age"] == group)).height:
                shared.append(left.height)
                fails = left.height < k or left["disease"].n_unique() < several
                broken, people = broken + fails, people + fails * left.height
        assert (one.own, one.groups, one.broken, one.people) == (int(own.sum()), len(shared), broken, people)
        assert one.fewest == min(shared, default=None)
    sizes = [len(one.members) for one in found.coalitions]
    assert len(sizes) == 2 ** len(found.contributed) - 2 == len({one.members for one in found.coalitions})


def test_one_coalition_is_asked_for_and_strangers_are_refused() -> None:
    frame = pl.DataFrame({"hospital": list("AABBB"), "age": [1, 2, 3, 4, 5], "disease": list("xyxyx")})
    release = ri.anonymize(frame, SCHEMA, "k=2", seed=1)
    found = view_of_release(release, ["B"], m=1)
    assert [one.members for one in found.coalitions] == [("B",)]
    assert found.as_dict()["coalitions"][0]["sentence"] == found.coalitions[0].sentence
    with pytest.raises(InputError, match="1 provider who gave no record"):
        view_of_release(release, ["Z"])


def test_providers_are_told_the_agreed_number_and_nobodys_name() -> None:
    assert may_be_told("k=5", 3, 2)[-1] == "It withstood the attack by any 2 providers who take their own records out."
    assert may_be_told("k=5", 3, 1)[-1] == "It withstood the attack by any one provider who takes its own records out."
    assert may_be_told("k=5", 3, 0)[-1] == "3 providers took part."
