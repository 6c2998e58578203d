"""Every release in the folder RELEASES meets the requirement, and together they expose nobody."""

import os
from pathlib import Path

import pytest

import reissue as ri

FOLDER = Path(os.environ.get("RELEASES", "releases"))
SCHEMA = Path(os.environ.get("RELEASES_SCHEMA", "schema.toml"))
RELEASES = sorted(FOLDER.glob("*.csv"))


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_it_meets_the_requirement(release: Path) -> None:
    """One release by itself."""
    ri.check(release, SCHEMA, os.environ.get("RELEASES_REQUIRE", "k=5")).raise_if_not_met()


@pytest.mark.skipif(len(RELEASES) < 2, reason="one release has nothing to be put together with")
def test_together_they_expose_nobody() -> None:
    """All of them, in the order of their names."""
    ri.attack(RELEASES, SCHEMA, only=["composition"]).raise_for_risk()
