"""Installing that ends on its way, and installing at once: nothing half-installed is ever left."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from router.home import Home
from router.packages.installation import install, tidy
from router.packages.ledger import Ledger
from router.packages.snapshot import prune
from router.packages.source import Source
from tests.packages.installing import put, quiet, whole
from tests.packages.making import write

INSTALL = """
import sys
from pathlib import Path
from router.home import Home
from router.packages.installation import install, update
from router.packages.source import Source

home, source, left = Home.at(Path(sys.argv[1])), Source.at(Path(sys.argv[2])), int(sys.argv[3])

def told(done, expected):
    print(done, flush=True)
    sys.stdin.readline()

try:
    install(home, source, told=told, waiting=lambda: None)
except Exception as refused:
    sys.exit(str(refused))
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path / "home")


def test_an_interrupted_install_leaves_nothing(home: Home, tmp_path: Path) -> None:
    def told(done: int, expected: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        install(home, Source.at(write(tmp_path / "notes")), told=told, waiting=lambda: None)
    assert whole(home)
    assert not home.ledger.exists()


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 11))
def test_an_install_that_is_killed_leaves_nothing_half_installed(
    tmp_path_factory: pytest.TempPathFactory, steps: int
) -> None:
    directory = tmp_path_factory.mktemp("killed")
    home, root = Home.at(directory / "home"), write(directory / "notes")
    for number in range(8):
        (root / f"f{number}").write_text(str(number))
    with begun(home, root) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(steps):
            if not process.stdout.readline():
                break
            process.stdin.write("\n")
            process.stdin.flush()
        process.kill()
    tidy(home)
    assert whole(home)
    if not Ledger.read(home).rows:
        put(home, root)
    assert whole(home)


@settings(max_examples=15)
@given(st.integers(0, 360))
def test_an_install_that_is_killed_at_any_call_of_the_system_leaves_nothing_half_installed(
    tmp_path_factory: pytest.TempPathFactory, calls: int
) -> None:
    """The process counts its audited calls (files opened, made, renamed) and kills itself at one of them."""
    directory = tmp_path_factory.mktemp("killed")
    home, root = Home.at(directory / "home"), write(directory / "notes")
    for number in range(8):
        (root / f"f{number}").write_text(str(number))
    code = (
        "import os, signal, sys\n"
        + INSTALL.partition("def told")[0]
        + "import filelock\n"  # It is loaded on the way, and loading it is no part of an install.
        + f"left = [{calls}]\n"
        + "def counted(event, arguments):\n"
        + "    left[0] -= 1\n"
        + "    if left[0] == -1: os.kill(os.getpid(), signal.SIGKILL)\n"
        + "sys.addaudithook(counted)\n"
        + "install(home, source, told=lambda done, expected: None, waiting=lambda: None)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, home.root, root, "0"], check=False, capture_output=True, timeout=60
    )
    assert ended.returncode in (0, -9), ended.stderr
    tidy(home)
    assert whole(home)
    rows = Ledger.read(home).rows
    assert ended.returncode == -9 or rows
    if not rows:
        put(home, root)
    assert whole(home)


def test_installs_at_once_take_their_turns(home: Home, tmp_path: Path) -> None:
    roots = [write(tmp_path / f"p{number}", id=f"p{number % 4}") for number in range(8)]
    said: list[str] = []

    def run(root: Path) -> None:
        process = subprocess.run(
            [sys.executable, "-c", INSTALL, home.root, root, "0"],
            input="\n" * 20,
            text=True,
            check=False,
            capture_output=True,
            timeout=60,
        )
        said.append(process.stderr)

    threads = [threading.Thread(target=run, args=(root,)) for root in roots]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(Ledger.read(home).installed) == {"p0", "p1", "p2", "p3"}
    assert len([text for text in said if "is installed already" in text]) == 4
    assert len([text for text in said if not text]) == 4
    assert whole(home)


def test_who_comes_second_hears_that_it_waits(home: Home, tmp_path: Path) -> None:
    waited = threading.Event()
    with begun(home, write(tmp_path / "notes")) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        other = Source.at(write(tmp_path / "other", id="other"))
        second = threading.Thread(
            target=lambda: install(home, other, told=quiet, waiting=waited.set), daemon=True
        )
        second.start()
        assert waited.wait(30)
        process.kill()
    second.join(30)
    assert set(Ledger.read(home).installed) == {"other"}
    assert whole(home)


def test_nothing_is_pruned_while_a_command_changes_the_packages(home: Home, tmp_path: Path) -> None:
    with begun(home, write(tmp_path / "notes")) as process:
        assert process.stdout is not None
        process.stdout.readline()
        before = sorted(home.packages.rglob("*"))
        prune(home, [])
        tidy(home)
        assert sorted(home.packages.rglob("*")) == before
        process.kill()
    tidy(home)
    assert whole(home)


class begun:  # noqa: N801 (it is read as a word)
    """An install that waits at each step for a line, and is over with the context."""

    def __init__(self, home: Home, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", INSTALL, home.root, root, "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> subprocess.Popen[str]:
        return self._process

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                # What was not flushed has nobody left to read it.
                pass
