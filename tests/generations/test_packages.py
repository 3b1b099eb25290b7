"""Packages while a mesh runs: what may run, what is taken in, and what is taken away.

Source: *Plugin authoring reference*, dependencies, installing and updating; *Generations* of the design.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from router.home import Home
from router.packages.ledger import Ledger, authorize
from tests.support.caller import failure
from tests.support.mesh import Mesh

PROGRAM = """
import asyncio, json, pathlib, sys
from provider_kit import Dynamic, Module, requirement, serve

class Package(Module):
    requires = [requirement(each) for each in REQUIRES]

    def __init__(self):
        self.provides = [Dynamic(SERVICE, {"say": self.say, "wait": self.wait})]

    async def say(self, params, call):
        return json.dumps({"version": VERSION, "root": str(pathlib.Path(__file__).parent)}).encode()

    async def wait(self, params, call):
        pathlib.Path(json.loads(params)).touch()
        while pathlib.Path(json.loads(params)).exists():
            await asyncio.sleep(0.01)
        return await self.say(params, call)

MORE
serve(Package())
"""


def package(
    root: Path,
    module: str,
    *,
    version: str = "1.0.0",
    service: str = "pkg.word",
    requires: tuple[str, ...] = (),
    more: str = "",
    **manifest: Any,
) -> Path:
    """Writes a package whose module says which version of it runs, and from where."""
    root.mkdir(parents=True, exist_ok=True)
    said = {
        "schema_version": 1,
        "id": module,
        "name": module,
        "version": version,
        "runtime": {"protocol": "wuu-mesh-grpc-v1", "command": "python", "args": ["-P", "main.py"]},
        **manifest,
    }
    (root / "plugin.json").write_text(json.dumps(said))
    head = f"REQUIRES = {list(requires)!r}\nSERVICE = {service!r}\nVERSION = {version!r}\n"
    (root / "main.py").write_text(head + PROGRAM.replace("MORE", more))
    return root


@pytest.fixture
async def mesh() -> AsyncIterator[Mesh]:
    """A mesh with the product's own composition, in a home that trusts nothing yet."""
    mesh = Mesh()
    mesh.composition.write_text('{"version": 4}')
    yield mesh
    await mesh.close()


def done(mesh: Mesh, *arguments: str | Path) -> str:
    """What a command that went well said."""
    ended = mesh.cli(*arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


def composed(mesh: Mesh, **document: Any) -> None:
    """Writes a composition over the packages beside it."""
    found = {"packages": ["sources/*"]} if (mesh.directory / "sources").is_dir() else {}
    mesh.composition.write_text(json.dumps({"version": 4, **found, **document}))


async def said(mesh: Mesh, service: str = "pkg.word@1") -> Any:
    return await mesh.call(service, "say")


# --- what may run ---


async def test_a_package_that_is_not_trusted_does_not_run_though_it_is_selected(mesh: Mesh) -> None:
    source = package(mesh.directory / "sources" / "word", "word")
    package(mesh.directory / "sources" / "user", "user", service="pkg.user", requires=("pkg.word@1",))
    authorize(Home.at(mesh.home), mesh.directory / "sources" / "user")
    selection = {"service": "pkg.word", "major": 1, "provider": "word"}
    composed(mesh, patches=[{"modules": {"word": True, "user": True}, "services": [selection]}])
    mesh.start()
    assert mesh.module("wuu.state.sqlite")["state"] == "active"
    word, user = mesh.module("word"), mesh.module("user")
    assert (word["state"], word["error"]["code"]) == ("disabled", "module_revoked")
    assert word["version"] == "1.0.0"
    assert "may not run: it is not trusted" in word["error"]["message"]
    assert f"wuu-mesh plugin trust {source}" in word["error"]["message"]
    assert user["state"] == "blocked"
    assert "pkg.word@1 of word (" in user["error"]["message"]
    assert "), which may not run: it is not trusted" in user["error"]["message"]
    assert (await failure(mesh.call("pkg.word@1", "say"))).code == "service_unavailable"


async def test_trust_starts_it_and_untrust_revokes_it_with_who_stands_on_it(mesh: Mesh) -> None:
    source = package(mesh.directory / "sources" / "word", "word")
    package(mesh.directory / "sources" / "user", "user", service="pkg.user", requires=("pkg.word@1",))
    authorize(Home.at(mesh.home), mesh.directory / "sources" / "user")
    composed(mesh, patches=[{"modules": {"word": True, "user": True}}])
    mesh.start()
    assert "word from directory:" in done(mesh, "plugin", "trust", source)
    assert (await said(mesh))["version"] == "1.0.0"
    assert mesh.module("user")["state"] == "active"
    waiting = mesh.directory / "waiting"
    call = asyncio.create_task(mesh.call("pkg.word@1", "wait", str(waiting)))
    await created(waiting)
    done(mesh, "plugin", "untrust", "word")
    error = await failure(call)
    assert error.code == "module_revoked"
    assert "it is not trusted" in error.message
    assert mesh.module("user")["state"] == "blocked"
    assert (await failure(mesh.call("pkg.user@1", "say"))).code == "service_unavailable"


async def test_a_package_that_is_not_trusted_is_not_added_to_what_runs(mesh: Mesh) -> None:
    mesh.start()
    package(mesh.directory / "sources" / "word", "word")
    composed(mesh, patches=[{"modules": {"word": True}}])
    ended = await mesh.apply_file()
    assert ended.outcome == "dropped"
    (problem,) = ended.problems
    assert (problem.where, problem.code) == ("module word", "module_revoked")
    assert "word may not run: it is not trusted" in problem.message


async def test_bytes_that_changed_since_they_were_trusted_are_refused_and_what_runs_goes_on(
    mesh: Mesh,
) -> None:
    source = package(mesh.directory / "sources" / "word", "word")
    composed(mesh, patches=[{"modules": {"word": True}}])
    done(mesh, "plugin", "trust", source)
    mesh.start()
    package(source, "word", version="1.0.1")
    ended = await mesh.reload("word")
    assert ended.outcome == "dropped"
    assert "word may not run: it has changed since it was trusted" in ended.problems[0].message
    assert (await said(mesh))["version"] == "1.0.0"
    await mesh.stop()
    mesh.start()
    assert mesh.module("word")["state"] == "disabled"


async def test_a_package_that_changes_while_it_is_started_is_refused(mesh: Mesh) -> None:
    more = "pathlib.Path(__file__).with_name('data').write_text('other bytes')"
    source = package(mesh.directory / "sources" / "word", "word", more=more)
    composed(mesh, patches=[{"modules": {"word": True}}])
    done(mesh, "plugin", "trust", source)
    mesh.start()
    word = mesh.module("word")
    assert (word["state"], word["error"]["code"]) == ("failed", "host_error")
    assert "its package was changed while it was started: it has changed" in word["error"]["message"]


async def test_what_a_directory_for_development_holds_runs_whatever_its_bytes_are(mesh: Mesh) -> None:
    source = package(mesh.directory / "sources" / "word", "word")
    composed(mesh, patches=[{"modules": {"word": True}}])
    mesh.start()
    done(mesh, "plugin", "trust", "--development", mesh.directory / "sources")
    package(source, "word", version="1.0.1")
    assert (await mesh.reload("word")).outcome == "committed"
    assert (await said(mesh))["version"] == "1.0.1"


async def test_a_disable_asks_nobody_for_trust(mesh: Mesh) -> None:
    source = package(mesh.directory / "sources" / "word", "word")
    composed(mesh, patches=[{"modules": {"word": True}}])
    done(mesh, "plugin", "trust", source)
    mesh.start()
    package(source, "word", version="1.0.1")
    assert (await mesh.switch("wuu.state.sqlite", enabled=False)).outcome == "committed"
    assert (await said(mesh))["version"] == "1.0.0"


# --- what is installed ---


async def test_an_installed_package_joins_the_composition_that_runs(mesh: Mesh) -> None:
    mesh.start()
    source = package(mesh.directory / "word", "word")
    told = done(mesh, "plugin", "install", source)
    assert "installed word 1.0.0, trusted and enabled" in told
    answer = await said(mesh)
    assert answer["root"].startswith(str(mesh.home / "packages" / "word"))
    assert mesh.status()["router"]["sources"] == [str(mesh.composition)]
    # It is the snapshot that runs: the source may go.
    package(source, "word", version="9.9.9")
    await mesh.reload("word")
    assert (await said(mesh))["version"] == "1.0.0"
    await mesh.stop()
    mesh.start()
    assert (await said(mesh))["version"] == "1.0.0"


async def test_files_that_name_their_modules_have_those_alone(mesh: Mesh) -> None:
    composed(mesh, modules={"wuu.state.sqlite": True})
    mesh.start()
    told = done(mesh, "plugin", "install", package(mesh.directory / "word", "word"))
    assert "word is no part of the composition that runs" in told
    assert '"word": true' in told
    assert "word" not in [row["id"] for row in mesh.status()["modules"]]


async def test_an_install_that_the_mesh_refuses_leaves_nothing(mesh: Mesh) -> None:
    mesh.start()
    source = package(mesh.directory / "word", "word", requires=("pkg.nobody@1",))
    ended = mesh.cli("plugin", "install", source)
    assert ended.returncode == 1
    assert "word requires pkg.nobody@1" in ended.stderr or "requires pkg.nobody@1" in ended.stderr
    assert not Ledger.read(Home.at(mesh.home)).installed
    assert mesh.status()["generation"]["state"] == "active"
    await mesh.stop()
    done(mesh, "plugin", "list")
    assert not list((mesh.home / "packages").glob("word/*"))


async def test_an_update_replaces_the_instance_and_work_in_flight_keeps_its_snapshot(mesh: Mesh) -> None:
    mesh.start()
    source = package(mesh.directory / "word", "word")
    done(mesh, "plugin", "install", source)
    waiting = mesh.directory / "waiting"
    call = asyncio.create_task(mesh.call("pkg.word@1", "wait", str(waiting)))
    await created(waiting)
    before = (await said(mesh))["root"]
    package(source, "word", version="1.1.0")
    assert "updated 1.0.0 to word 1.1.0, trusted, enabled" in done(mesh, "plugin", "update", "word", source)
    answer = await said(mesh)
    assert answer["version"] == "1.1.0" and answer["root"] != before
    assert (Path(before) / "main.py").is_file()
    waiting.unlink()
    assert await call == {"version": "1.0.0", "root": before}


async def test_an_update_that_would_break_who_needs_it_is_refused_and_the_old_one_goes_on(mesh: Mesh) -> None:
    mesh.start()
    source = package(mesh.directory / "word", "word")
    done(mesh, "plugin", "install", source)
    user = package(mesh.directory / "user", "user", service="pkg.user", requires=("pkg.word@1",))
    done(mesh, "plugin", "install", user)
    before = Ledger.read(Home.at(mesh.home)).installed["word"]
    # Another service under the same id: what `user` requires is gone.
    package(source, "word", version="1.1.0", service="pkg.other")
    ended = mesh.cli("plugin", "update", "word", source)
    assert ended.returncode == 1
    assert "the mesh refuses it, so nothing is changed" in ended.stderr
    assert "pkg.word@1" in ended.stderr
    assert Ledger.read(Home.at(mesh.home)).installed["word"] == before
    assert (await said(mesh))["version"] == "1.0.0"
    await mesh.stop()
    mesh.start()
    assert (await said(mesh))["version"] == "1.0.0"


async def test_a_removed_package_is_revoked_whoever_needs_it(mesh: Mesh) -> None:
    mesh.start()
    done(mesh, "plugin", "install", package(mesh.directory / "word", "word"))
    user = package(mesh.directory / "user", "user", service="pkg.user", requires=("pkg.word@1",))
    done(mesh, "plugin", "install", user)
    done(mesh, "plugin", "remove", "word")
    assert "word" not in [row["id"] for row in mesh.status()["modules"]]
    assert mesh.module("user")["state"] == "blocked"
    assert (await failure(mesh.call("pkg.word@1", "say"))).code == "service_not_found"
    await mesh.stop()
    done(mesh, "plugin", "list")
    assert not (mesh.home / "packages" / "word").exists()


async def test_a_removed_package_that_a_file_names_stays_named_and_may_not_run(mesh: Mesh) -> None:
    done(mesh, "plugin", "install", package(mesh.directory / "word", "word"))
    composed(mesh, modules={"word": True})
    mesh.start()
    assert (await said(mesh))["version"] == "1.0.0"
    done(mesh, "plugin", "remove", "word")
    word = mesh.module("word")
    assert (word["state"], word["error"]["code"]) == ("disabled", "module_revoked")
    assert "it is not what is installed as word" in word["error"]["message"]
    assert (await failure(mesh.call("pkg.word@1", "say"))).code == "service_not_found"


# --- what packages say about one another ---


async def test_a_package_without_the_one_that_it_needs_is_inactive_and_so_is_who_needs_it(mesh: Mesh) -> None:
    sources = mesh.directory / "sources"
    package(sources / "a", "a", service="pkg.a", dependencies=[{"id": "b", "version": "^2.0.0"}])
    package(sources / "b", "b", service="pkg.b", version="1.4.0")
    package(sources / "c", "c", service="pkg.c", dependencies=[{"id": "a"}])
    package(sources / "d", "d", service="pkg.d", dependencies=[{"id": "gone", "optional": True}])
    authorize(Home.at(mesh.home), sources)
    composed(mesh, patches=[{"modules": dict.fromkeys("abcd", True)}])
    mesh.start()
    states = {row["id"]: row["state"] for row in mesh.status()["modules"]}
    assert {module: states[module] for module in "abcd"} == {
        "a": "blocked",
        "b": "active",
        "c": "blocked",
        "d": "active",
    }
    assert "depends on the package b, but b is there in version 1.4.0" in mesh.module("a")["error"]["message"]
    assert "depends on the package a, which is blocked" in mesh.module("c")["error"]["message"]


async def test_an_update_out_of_the_range_of_who_needs_it_is_dropped(mesh: Mesh) -> None:
    sources = mesh.directory / "sources"
    package(sources / "a", "a", service="pkg.a", dependencies=[{"id": "b", "version": "^1.0.0"}])
    package(sources / "b", "b", service="pkg.b", version="1.4.0")
    authorize(Home.at(mesh.home), sources)
    composed(mesh, patches=[{"modules": {"a": True, "b": True}}])
    mesh.start()
    assert mesh.module("a")["state"] == "active"
    package(sources / "b", "b", service="pkg.b", version="2.0.0")
    ended = await mesh.reload("b")
    assert ended.outcome == "dropped"
    assert "a" in ended.problems[0].where and "2.0.0" in ended.problems[0].message
    assert mesh.module("a")["state"] == "active"


async def test_packages_that_break_one_another_reject_and_those_that_conflict_are_noted(mesh: Mesh) -> None:
    sources = mesh.directory / "sources"
    package(sources / "a", "a", service="pkg.a", breaks=["b"])
    package(sources / "b", "b", service="pkg.b", conflicts=["c"])
    package(sources / "c", "c", service="pkg.c")
    authorize(Home.at(mesh.home), sources)
    composed(mesh, patches=[{"modules": {"a": True, "b": True}}])
    rejected = mesh.cli("up", "--detach", "-c", mesh.composition)
    assert rejected.returncode == 2
    assert "a breaks b: they cannot be active together" in rejected.stderr
    composed(mesh, patches=[{"modules": {"b": True, "c": True}}])
    mesh.start()
    assert any("b conflicts with c" in each for each in mesh.status()["diagnostics"])
    assert mesh.status()["generation"]["state"] == "active"
    assert "b conflicts with c" in mesh.cli("check", "-c", mesh.composition).stderr


async def test_a_package_for_another_host_is_shown_with_the_reason(mesh: Mesh) -> None:
    sources = mesh.directory / "sources"
    package(sources / "a", "a", service="pkg.a", platforms=["win32"])
    package(sources / "b", "b", service="pkg.b", minimum_wuu_version="2999.101.0")
    authorize(Home.at(mesh.home), sources)
    composed(mesh, patches=[{"modules": {"a": True, "b": True}}])
    mesh.start()
    assert "it is for win32 and not for" in mesh.module("a")["error"]["message"]
    assert "it needs Wuu 2999.101.0" in mesh.module("b")["error"]["message"]


async def created(path: Path) -> None:
    """Returns once a module has made the file."""
    async with asyncio.timeout(30):
        while not path.exists():  # noqa: ASYNC110 (a directory does not say when a file comes)
            await asyncio.sleep(0.01)
