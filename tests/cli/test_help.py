"""Every command explains itself, and says so where it was mistyped."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version

import pytest

from tests.cli.command import bare


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((), ["up", "down", "status", "check", "call", "tool", "logs", "Exit codes", "--version"]),
        ((), ["apply", "reload", "enable", "disable", "rollback"]),
        ((), ["generations", "executions", "cancel", "events"]),
        (("up",), ["-c", "committed last in this home", "the product's own", "--detach", "Ctrl-C"]),
        (("down",), ["--home", "$XDG_STATE_HOME/wuu-mesh", "consumers before their providers"]),
        (("status",), ["--json", "WUU_MESH_HOME"]),
        (("check",), ["-c", "--start", "--json", "Exits with 2"]),
        (("explain",), ["SERVICE", "--consumer MODULE", "-c", "--json", "what it overrode", "Exits with 1"]),
        (("graph",), ["--format", "text|mermaid|dot|svg", "-c", "--json", "what runs"]),
        (("apply",), ["FILE", "--dry-run", "--json", "Exits with 2"]),
        (("reload",), ["MODULE", "every module without one", "--json"]),
        (("enable",), ["MODULE", "--json", "--home"]),
        (("disable",), ["MODULE", "--json", "cancelled at once"]),
        (("rollback",), ["--json", "the composition before"]),
        (("generations",), ["--limit N", "--json", "newest first"]),
        (("executions",), ["--watch", "--json", "in every generation"]),
        (("cancel",), ["ID", "all that it called"]),
        (("events",), ["--follow", "-f", "--json", "in order"]),
        (("call",), ["SERVICE", "METHOD", "JSON", "--as MODULE", "standard input"]),
        (("tool",), ["list", "run"]),
        (("tool", "list"), ["--json", "--home"]),
        (("tool", "run"), ["MODULE/TOOL", "JSON", "--json", "Exits with 1"]),
        (("logs",), ["--follow", "-f", "MODULE"]),
        ((), ["plugin"]),
        (("plugin",), ["list", "inspect", "install", "update", "remove", "trust", "untrust"]),
        (("plugin", "list"), ["--json", "--home"]),
        (("plugin", "inspect"), ["DIR|ZIP", "--json", "Runs nothing"]),
        (("plugin", "install"), ["DIR|ZIP", "--integrity sha256:…", "trust it and enable it", "--json"]),
        (("plugin", "update"), ["ID", "DIR|ZIP", "--trust", "stays trusted"]),
        (("plugin", "remove"), ["ID", "--json"]),
        (("plugin", "trust"), ["ID|DIR", "--development DIR", "--json"]),
        (("plugin", "untrust"), ["ID|DIR", "What is installed stays so"]),
    ],
)
def test_every_command_explains_itself(command: tuple[str, ...], words: list[str]) -> None:
    answer = bare(*command, "--help")
    assert (answer.returncode, answer.stderr) == (0, "")
    told = " ".join(answer.stdout.split()).replace("- ", "-")
    assert [word for word in words if word not in told] == []


def test_help_fits_a_narrow_terminal() -> None:
    for command in ((), ("check",), ("call",)):
        told = bare(*command, "-h", env={**os.environ, "COLUMNS": "60"}).stdout
        assert "Usage: wuu-mesh" in told
        assert max(map(len, told.splitlines())) <= 60


def test_without_a_command_the_commands_are_shown() -> None:
    answer = bare()
    assert answer.returncode == 2
    assert "Start the mesh" in answer.stdout + answer.stderr


def test_the_version_is_printed() -> None:
    answer = bare("--version")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"{version('wuu-mesh')}\n", "")


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_asks_nothing_of_a_mesh_does_not_load_what_does(option: str) -> None:
    code = f"import sys; sys.argv = ['wuu-mesh', '{option}']; from router.cli import main; main()"
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True
    ).stderr
    assert "router.cli" in loaded
    for heavy in ("grpc", "google.protobuf", "rich", "pydantic", "router.mesh"):
        assert f" {heavy}\n" not in loaded, heavy


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        (("nonsense",), "No such command 'nonsense'"),
        (("statu",), "Did you mean 'status'?"),
        (("status", "--nonsense"), "No such option: --nonsense"),
        (("call",), "Missing argument 'SERVICE'"),
        (("call", "probe.a@1"), "Missing argument 'METHOD'"),
        (("tool", "run"), "Missing argument 'MODULE/TOOL'"),
        (("up", "c.json"), "unexpected extra argument (c.json); name a composition with -c c.json"),
        (("check", "c.json"), "unexpected extra argument (c.json); name a composition with -c c.json"),
        (("check", "-c", "c.json", "d"), "unexpected extra argument (d)"),
        (("check", "-c", "-"), "a composition is a file"),
        (("up", "-c", "-"), "a composition is a file"),
        (("apply", "-"), "a composition is a file"),
        (("generations", "--limit", "0"), "Invalid value for '--limit'"),
        (("up", "--nonsense"), "No such option: --nonsense"),
        (("plugin", "install"), "Missing argument 'DIR|ZIP'"),
        (("plugin", "update", "a"), "Missing argument 'DIR|ZIP'"),
        (("plugin", "instal", "a"), "Did you mean 'install'"),
        (("logs", "a", "b"), "unexpected extra argument"),
        (("status", "--home", ""), "it names no directory"),
    ],
)
def test_a_mistake_of_usage_ends_with_2(arguments: tuple[str, ...], mistake: str) -> None:
    answer = bare(*arguments)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "Usage: wuu-mesh" in answer.stderr
    assert "--help" in answer.stderr
    assert mistake in answer.stderr
