"""The examples in the docstrings of public names run, and every public function and class but errors has one."""

import doctest
from pathlib import Path

import pytest

import reissue

PUBLIC = [name for name in reissue.__all__ if name != "__version__"]


def example(name: str) -> doctest.DocTest:
    """The example of a public name itself, not those of its methods."""
    found = getattr(reissue, name)
    return doctest.DocTestParser().get_doctest(found.__doc__ or "", {}, name, None, None)


@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = example(name)
    assert test.examples or name.endswith("Error"), name
    printed: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=printed.append, clear_globs=False)
    assert not runner.failures, "".join(printed)


def test_every_parameter_of_a_public_function_is_documented() -> None:
    for name in (name for name in PUBLIC if name.islower()):
        function = getattr(reissue, name)
        text, code = function.__doc__, function.__code__
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        assert not [one for one in given if f"\n    {one}\n        " not in text and f"\n{one}\n    " not in text], name
        assert "Returns\n" in text, name
