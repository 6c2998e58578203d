"""How soon the page answers while a job runs: `python -m benchmarks page [--demo FOLDER] [--rounds N] [--minutes N]`.

Serves the page as `reissue open` does, on the ledger of the demo (in FOLDER, as `reissue demo --out FOLDER` wrote it;
without one it is played first), takes the whole path once so that every page is there, and starts a plan. While that
runs every page is asked for: once for the first time since the server started, then again and again. Printed are
milliseconds until the whole answer is read; then when the plan's first point was there, as a share of its whole time,
and how long a second plan took to end that was cancelled.
"""

import argparse
import html
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from reissue import demo
from reissue.web.shelf import Shelf

BOUNDARY = "part-of-a-form"
LIMIT = 200.0
"""Milliseconds within which a page answers."""


@dataclass
class Visitor:
    """A browser that was let in."""

    port: int
    cookie: str = ""
    times: dict[str, list[float]] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> tuple[int, str, str]:
        """One request: its status, where it leads, and its text."""
        headers = {"Host": f"127.0.0.1:{self.port}", "Cookie": self.cookie, "Origin": f"http://127.0.0.1:{self.port}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {**headers, **({"Content-Type": kind} if kind else {})})
            found = connection.getresponse()
            text = found.read().decode("utf-8", "replace")
            self.cookie = (found.getheader("Set-Cookie") or self.cookie).partition(";")[0]
            return found.status, found.getheader("Location") or "", text
        finally:
            connection.close()

    def timed(self, name: str, path: str) -> str:
        """One page, whole."""
        begun = time.perf_counter()
        status, _, text = self.ask("GET", path)
        self.times.setdefault(name, []).append(1000 * (time.perf_counter() - begun))
        if status != 200:
            raise SystemExit(f"{name} answered {status}: {re.findall('said.>(.*?)<', text)}")
        return text

    def send(self, path: str, fields: Mapping[str, str], files: Sequence[tuple[str, Path]] = ()) -> str:
        """A form; where it leads."""
        if not files:
            kind, body = "application/x-www-form-urlencoded", urlencode(fields).encode()
        else:
            head, kind = (
                f"--{BOUNDARY}\r\nContent-Disposition: form-data; name=",
                f"multipart/form-data; boundary={BOUNDARY}",
            )
            body = b"".join(f'{head}"{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields.items())
            for name, one in files:
                body += f'{head}"{name}"; filename="{one.name}"\r\n\r\n'.encode() + one.read_bytes() + b"\r\n"
            body += f"--{BOUNDARY}--\r\n".encode()
        status, place, text = self.ask("POST", path, body, kind)
        if status != 303:
            raise SystemExit(f"{path} answered {status}: {re.findall('said.>(.*?)<', text)}")
        return place

    def done(self, job: str) -> str:
        """Wait for a job; the page that shows what came of it, not yet asked for."""
        while True:
            status, place, text = self.ask("GET", job)
            if status == 303:
                return place
            if "Cancel" not in text:
                raise SystemExit(f"a job failed: {re.findall('said.>(.*?)<', text)}")
            time.sleep(0.2)


@contextmanager
def served(folder: Path, ledger: Path) -> Iterator[Visitor]:
    """The page as `reissue open` serves it, in a process of its own."""
    code = "from reissue.cli import main; main()"
    command = [sys.executable, "-c", code, "open", "--no-browser", "--json", str(ledger.resolve())]
    own = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    with subprocess.Popen(command, cwd=folder, env=own, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        try:
            said = ""
            while server.stdout is not None and not said.rstrip().endswith("}"):
                said += server.stdout.readline()
            address = str(json.loads(said)["address"])
            visitor = Visitor(int(urlsplit(address).port or 0))
            visitor.ask("GET", "/" + address.split("/", 3)[3])
            yield visitor
        finally:
            server.terminate()


PLAN = {"limit": "0.75", "suppress": "2", "counterfeits": "10"}


def settled(visitor: Visitor, waves: Sequence[Path]) -> str:
    """Bring waves, save their schema; the path of their desk."""
    desk = visitor.done(visitor.send("/table/upload", {}, [("wave", one) for one in waves]))
    _, _, text = visitor.ask("GET", desk)
    fields = {}
    for name, options in re.findall(r'<select id="\w+" name="(c\d+\w+)">(.*?)</select>', text, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options)
        fields[name] = chosen[1] if chosen else "auto"
    fields |= dict(re.findall(r'<input type="text" id="\w+" name="(c\d+\w+)" value="([^"]*)"', text))
    visitor.done(visitor.send(f"{desk}/upload", fields))
    return desk


def whole_path(visitor: Visitor, folder: Path, ledger: str) -> dict[str, str]:
    """Take every step once; the pages that stay then, none of them asked for."""
    published = [("published", folder / "act-one" / one.name) for one in waves_of(folder)]
    schema = [("schema", one) for one in (folder / "schema.toml", folder / "updates.csv") if one.is_file()]
    read = visitor.done(visitor.send("/audit/upload", {}, published))
    audited = visitor.done(visitor.send("/audit/upload", {}, [*published, *schema]))
    pages = {
        "what was read": read,
        "an audit": audited,
        "its report": f"/jobs/{audited.split('/')[-1]}/files/report.html",
    }
    for name in ("one.ledger", "two.ledger"):
        desk = settled(visitor, waves_of(folder))
        plan = visitor.done(visitor.send(f"{desk}/plan", {**PLAN, "minutes": "0.2"}))
        beside = visitor.done(visitor.send(f"{plan}/slide", {"method": "pool", "k": "40", "l": "4"}))
        setting = re.findall(r'type="radio" name="setting" value="([^"]+)"', visitor.ask("GET", plan)[2])
        if not setting:
            raise SystemExit("no setting withstood")
        sent = {"name": name, "limit": PLAN["limit"], "setting": html.unescape(setting[0])}
        candidate = visitor.done(visitor.send(f"{plan}/choose", sent))
        if name == "one.ledger":
            pages["published"] = visitor.done(visitor.send(f"{candidate}/publish", {}))
    pages |= {"columns": desk, "schema": f"{desk}/schema", "plan": plan, "plan, another limit": f"{plan}?limit=0.60"}
    pages |= {"before and after": beside, "candidate": candidate, "candidate's providers": f"{candidate}/providers"}
    return {**pages, "verified": visitor.done(visitor.send(f"{ledger}/verify", {}))}


def waves_of(folder: Path) -> list[Path]:
    return sorted((folder / "original").glob("*.csv"))[:2]


def others(ledger: str) -> dict[str, str]:
    """Pages that need nothing before."""
    return {
        "home": "/",
        "audit": "/audit",
        "table": "/table",
        "begin a series": "/publish",
        "ledger": ledger,
        "publish the next": f"{ledger}/publish",
        "release": f"{ledger}/releases/12",
        "report of a release": f"{ledger}/releases/12/report",
        "policy": f"{ledger}/policy",
        "providers": f"{ledger}/providers",
        "download as CSV": f"{ledger}/releases/12/table.csv",
        "style": "/static/style.css",
        "script": "/static/htmx.min.js",
    }


def watched(visitor: Visitor, job: str, pages: Mapping[str, str], rounds: int) -> tuple[float, float]:
    """Ask for all pages while a job runs; when its first point was there, and when it ended."""
    begun, first, asked = time.perf_counter(), 0.0, 0
    while True:
        for name, path in ({**pages, "a job": job, "points so far": f"{job}/points"}).items():
            if asked < rounds:
                visitor.timed(name, path)
            status, _, text = visitor.ask("GET", f"{job}/points")
            if not first and status == 200 and "<svg" in text:
                first = time.perf_counter() - begun
            status, _, text = visitor.ask("GET", job)
            if status == 303 or "Cancel" not in text:
                return first, time.perf_counter() - begun
            time.sleep(0.02)
        asked += 1


def cancelled(visitor: Visitor, job: str) -> float:
    """Seconds until a job has ended that is cancelled in the middle."""
    time.sleep(4)
    begun = time.perf_counter()
    visitor.send(f"{job}/cancel", {})
    while "Cancel</button>" in visitor.ask("GET", job)[2]:
        time.sleep(0.01)
    return time.perf_counter() - begun


def shown(times: Mapping[str, Sequence[float]]) -> str:
    """A line for each page, the slowest first."""
    lines = [f"{'page':24}{'first':>8}{'median':>8}{'worst':>8}  ms, then"]
    for name, all_of in sorted(times.items(), key=lambda one: -max(one[1])):
        later = all_of[1:] or all_of
        lines.append(f"{name:24}{all_of[0]:8.0f}{statistics.median(later):8.0f}{max(later):8.0f}")
    slow = [name for name, all_of in times.items() if max(all_of) > LIMIT]
    every = [one for all_of in times.values() for one in all_of]
    lines.append(
        f"{len(every)} answers, {sum(one > LIMIT for one in every)} above {LIMIT:.0f} ms: {', '.join(slow) or 'none'}"
    )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks page")
    parser.add_argument("--demo", type=Path)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=2.0)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = asked.demo.resolve() if asked.demo else demo.play(Path(name) / "demo").out
        with served(Path(name), folder / "ledger") as visitor:
            # The shelf's short name of a ledger: pages are not asked for before they are timed.
            ledger = f"/ledgers/{Shelf.short(str(folder / 'ledger'))}"
            pages = {**others(ledger), **whole_path(visitor, folder, ledger)}
            desk = settled(visitor, waves_of(folder))
            job = visitor.send(f"{desk}/plan", {**PLAN, "minutes": str(asked.minutes)})
            first, whole = watched(visitor, job, pages, asked.rounds)
            print(shown(visitor.times))
            print(f"first point after {first:.1f} s of {whole:.1f} s: {first / whole:.0%} of the plan")
            desk = settled(visitor, waves_of(folder))
            job = visitor.send(f"{desk}/plan", {**PLAN, "minutes": str(asked.minutes)})
            print(f"cancelled within {cancelled(visitor, job):.2f} s")
