"""What others expect of a repository: metadata, citation, issue forms, and a release that makes sure of itself."""

import re
import runpy
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

import reissue

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: Path) -> Any:
    yaml = pytest.importorskip("yaml", reason="comes with the extra docs")
    return yaml.safe_load(path.read_text())


def test_python_versions_are_those_that_the_tests_run_on() -> None:
    declared = set(re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"])))
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/test.yml").read_text())
    assert matrix is not None
    assert set(re.findall(r"3\.\d+", matrix[1])) == declared
    assert min(declared, key=lambda one: int(one[2:])) == PROJECT["requires-python"].removeprefix(">=")


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {reissue.__version__}\n" in text
    assert f"\nlicense: {PROJECT['license']}\n" in text
    cited = read(ROOT / "CITATION.cff")
    assert cited["cff-version"] == "1.2.0"
    assert [one["name"] for one in cited["authors"]] == [one["name"] for one in PROJECT["authors"]]


@pytest.mark.parametrize("form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda path: path.stem)
def test_issue_forms_can_be_read(form: Path) -> None:
    found = read(form)
    if form.stem == "config":
        assert found == {"blank_issues_enabled": False}
        return
    assert {"name", "description", "body"} <= found.keys()
    named = [one["id"] for one in found["body"] if "id" in one]
    assert named
    assert len(set(named)) == len(named)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_ask_for_no_more_than_they_need(workflow: Path) -> None:
    found = read(workflow)
    assert found["permissions"] == {"contents": "read"}
    text = workflow.read_text()
    assert not re.search(r"password:|secrets\.(?!GITHUB_TOKEN)", text)
    for path in re.findall(r"python ((?:requirements|docs)/\w+\.py)", text):
        assert (ROOT / path).is_file()
    writing = {name for name, job in found["jobs"].items() if "write" in str(job.get("permissions"))}
    assert writing <= {"build", "publish", "release", "docs"}
    assert all("run" in step or "uses" in step for job in found["jobs"].values() for step in job["steps"])


def test_a_tag_is_no_release_until_everything_says_so(tmp_path: Path) -> None:
    missing = runpy.run_path(str(ROOT / "requirements" / "release.py"))["missing"]
    for name in ("pyproject.toml", "CITATION.cff", "CHANGELOG.md", "src/reissue/_version.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    version = reissue.__version__
    said = missing(f"v{version}", tmp_path)
    assert [("CHANGELOG" in one, "project.urls" in one) for one in said] == [(True, False), (False, True)]
    changes = (tmp_path / "CHANGELOG.md").read_text()
    (tmp_path / "CHANGELOG.md").write_text(changes.replace("## [Unreleased]", f"## [{version}] - 2030-01-31"))
    urls = "".join(f'{name} = "https://example.org"\n' for name in ("Source", "Documentation", "Issues", "Changelog"))
    with (tmp_path / "pyproject.toml").open("a") as file:
        file.write(f"\n[project.urls]\n{urls}")
    assert missing(f"v{version}", tmp_path) == []
    assert len(missing("v99.0.0", tmp_path)) == 1
    (tmp_path / "CITATION.cff").write_text("version: 9\n")
    assert len(missing(f"v{version}", tmp_path)) == 1


def test_documentation_has_a_folder_for_each_version(tmp_path: Path) -> None:
    place = runpy.run_path(str(ROOT / "docs" / "versions.py"))["place"]
    site, pages = tmp_path / "site", tmp_path / "pages"
    site.mkdir()
    for version in ("0.9.0", "0.10.0", "0.9.1"):
        (site / "index.html").write_text(version)
        found = place(site, pages, version)
    assert found == ["0.10.0", "0.9.1", "0.9.0"]
    assert (pages / "latest" / "index.html").read_text() == "0.10.0"
    assert (pages / "0.9.1" / "index.html").read_text() == "0.9.1"
    assert "latest/" in (pages / "index.html").read_text()
    with pytest.raises(SystemExit):
        place(site, pages, "../elsewhere")
