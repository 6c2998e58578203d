"""Pages of the docs and what is in them: code blocks, and a shell that runs them as a reader would."""

import os
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["ROOT", "blocks", "script", "shell", "words"]

ROOT = Path(__file__).parent.parent


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def script(page: Path) -> str:
    """All commands of a page, with its Python among them, in their order."""
    found = re.findall(r"^```(sh|python)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return "\n".join(code if kind == "sh" else f"python - <<'PYTHON'\n{code}PYTHON" for kind, code in found)


def words(text: str) -> str:
    """The text without regard to line breaks."""
    return " ".join(text.split())


def shell(commands: str, folder: Path) -> str:
    """Run lines as a reader would, with `reissue` on the path; what they print."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603
        ["bash", "-euo", "pipefail", "-c", commands],  # noqa: S607
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr
