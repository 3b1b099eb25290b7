"""Settings with a decorator in front: one view is extended, and the provider behind it is any provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.examples.mesh import EXAMPLES, Mesh, RefusedError

SERVICE = "state.plugin-settings@1"
EDITOR = {"subject": "example.editor", "scope": "user"}
VIEWER = {"subject": "example.viewer", "scope": "user"}
DECORATOR = "example.settings-decorator"
DELEGATES = ("example.settings", "example.settings-plugin")


def document() -> str:
    """`examples/settings-composition.json`, as it stands."""
    return (EXAMPLES / "settings-composition.json").read_text()


def delegated(mesh: Mesh, to: str, instead_of: str) -> None:
    """Changes the one line that names the delegate."""
    mesh.edit(f'"provider": "{instead_of}"', f'"provider": "{to}"')


@pytest.fixture(params=DELEGATES, scope="module")
def mesh(request: pytest.FixtureRequest) -> Iterator[Mesh]:
    """The mesh with a native delegate, and with a plugin."""
    with Mesh(document()) as mesh:
        if request.param != DELEGATES[0]:
            delegated(mesh, request.param, DELEGATES[0])
        mesh.up()
        yield mesh


def writers(mesh: Mesh) -> list[str]:
    """The providers that have kept something."""
    return [each for each in DELEGATES if any((mesh.directory / "home" / "state" / each).rglob("*.json"))]


def update(mesh: Mesh, method: str, revision: str, values: object, **more: object) -> Any:
    """Replaces values, of the editor unless somebody else is given."""
    given = {**EDITOR, "expected_revision": revision, "values": values, **more}
    return mesh.call(SERVICE, method, given)


def test_defaults_are_filled_in_where_settings_are_read_and_nowhere_else(mesh: Mesh) -> None:
    defaults = {"theme": "light", "tab_width": 4}
    assert mesh.call(SERVICE, "read", EDITOR) == {"revision": "0", "values": defaults, "fingerprint": ""}
    assert update(mesh, "update", "0", {"theme": "dark"}, fingerprint="f1") == {"revision": "1"}
    read = mesh.call(SERVICE, "read", EDITOR)
    assert read == {"revision": "1", "values": {"theme": "dark", "tab_width": 4}, "fingerprint": "f1"}
    # What was written is what was given; the delegate knows of no default, and nothing else has any.
    kept = mesh.call(SERVICE, "read", EDITOR, "--as", DECORATOR)
    assert kept == {"revision": "1", "values": {"theme": "dark"}, "fingerprint": "f1"}
    assert mesh.call(SERVICE, "read", {**EDITOR, "scope": "workspace"})["values"] == defaults
    assert mesh.call(SERVICE, "read", {**EDITOR, "subject": "example.other"})["values"] == {}
    # The state beside them passes as it is.
    assert mesh.call(SERVICE, "read-state", EDITOR) == {"revision": "0", "values": {}}
    assert update(mesh, "update-state", "0", {"open": ["a"]}) == {"revision": "1"}
    assert mesh.call(SERVICE, "read-state", EDITOR) == {"revision": "1", "values": {"open": ["a"]}}


def test_errors_of_the_delegate_arrive_as_they_are_and_settings_outlive_the_mesh(mesh: Mesh) -> None:
    update(mesh, "update", "0", {"theme": "dark"}, **VIEWER)
    with pytest.raises(RefusedError, match=r"settings_conflict: example\.viewer is at revision 1, not at 0"):
        update(mesh, "update", "0", {"theme": "red"}, **VIEWER)
    for wrong in ({"subject": "a", "scope": "world"}, {"scope": "user"}, {**EDITOR, "subject": 3}):
        with pytest.raises(RefusedError, match="invalid_params: "):
            mesh.call(SERVICE, "read", wrong)
    mesh.down()
    mesh.up()
    assert mesh.call(SERVICE, "read", VIEWER)["values"] == {"theme": "dark"}


def test_the_delegate_is_swapped_by_one_line_while_the_mesh_runs() -> None:
    with Mesh(document()) as mesh:
        mesh.up()
        update(mesh, "update", "0", {"theme": "dark"})
        delegated(mesh, "example.settings-plugin", instead_of="example.settings")
        mesh.run("apply", str(mesh.composition))
        # Another provider has other settings; the defaults are those of the decorator, which is the same.
        assert mesh.call(SERVICE, "read", EDITOR)["values"] == {"theme": "light", "tab_width": 4}
        assert mesh.provider("state.plugin-settings") == DECORATOR
        assert writers(mesh) == ["example.settings"]
        update(mesh, "update", "0", {"theme": "blue"})
        assert writers(mesh) == list(DELEGATES)
