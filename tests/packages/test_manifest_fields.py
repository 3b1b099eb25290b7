"""The fields of a manifest beside the process: relations, platforms, families and contributions."""

from __future__ import annotations

from pathlib import Path

import pytest

from router.packages import BadPackage, read_manifest
from router.packages.contribution import Family
from router.packages.manifest import Dependency
from tests.packages.making import write

TRANSFER = {"id": "t", "plugin": "other", "scope": "user", "domain": "personal", "keyPrefix": "a/"}
LOOK = {"background": "#000000", "foreground": "#ffffff"}

WHOLE: dict[str, object] = {
    "minimum_wuu_version": "2026.1108.0",
    "platforms": ["linux", "darwin-arm64"],
    "requires": ["old"],
    "dependencies": [{"id": "text", "version": "^1.0.0"}, {"id": "draft", "optional": True}],
    "breaks": ["enemy"],
    "conflicts": ["rival"],
    "skills": ["skills/notes"],
    "hooks": {"beforeTool": [{"command": "x"}]},
    "mcpServers": {"files": {"command": "node", "args": ["x"]}},
    "contributes": {
        "themes": [
            {"id": "calm", "name": "Calm", "base": "dark", "tokens": {"--wuu-color-canvas": "#151820"}}
        ],
        "skins": [
            {
                "id": "ocean",
                "name": "Ocean",
                "placement": "canvas",
                "userImage": True,
                "light": LOOK,
                "dark": LOOK,
            }
        ],
        "settings": {
            "enabled": {
                "type": "boolean",
                "title": "On",
                "default": True,
                "scope": "workspace",
                "apply": "live",
            }
        },
        "commands": [{"id": "go", "kind": "prompt_template", "file": "go.md"}],
        "presenters": [{"id": "p"}],
        "navigation": [{"id": "n"}],
        "workspaceTools": [{"id": "w"}],
        "settingsPages": [{"id": "s"}],
    },
    "desktop": {"entry": "dist/renderer.js", "required_services": [{"name": "a.b", "version": 1}]},
    "interface": {"family": {"id": "example.automation", "name": "Automations", "description": "Together."}},
    "requested_permissions": ["network"],
    "storageTransfers": {"exports": [TRANSFER], "imports": []},
}


def message(root: Path) -> str:
    with pytest.raises(BadPackage) as bad:
        read_manifest(root)
    return bad.value.message.removeprefix("plugin.json: ")


def test_a_whole_manifest_is_read(tmp_path: Path) -> None:
    manifest = read_manifest(write(tmp_path, **WHOLE))
    assert manifest.minimum_wuu_version == "2026.1108.0"
    assert manifest.platforms == ("linux", "darwin-arm64")
    assert manifest.requires == ("old",)
    assert manifest.dependencies == (
        Dependency(id="text", version="^1.0.0"),
        Dependency(id="draft", optional=True),
    )
    assert (manifest.breaks, manifest.conflicts) == (("enemy",), ("rival",))
    assert manifest.mcp_servers == {"files": {"command": "node", "args": ["x"]}}
    assert manifest.contributes.skins[0].user_image
    assert manifest.contributes.settings["enabled"].apply == "live"
    assert [each["id"] for each in manifest.contributes.settings_pages] == ["s"]
    assert manifest.desktop is not None
    assert manifest.desktop.entry == "dist/renderer.js"
    assert manifest.storage_transfers.exports[0].key_prefix == "a/"
    assert manifest.family == Family(id="example.automation", name="Automations", description="Together.")


def test_a_package_without_a_process_is_declarative(tmp_path: Path) -> None:
    assert read_manifest(write(tmp_path, runtime=None)).runtime is None


@pytest.mark.parametrize(
    "family", [{}, {"id": "x"}, {"name": "y"}, {"id": "", "name": "y"}, {"id": "x", "name": " "}]
)
def test_an_incomplete_family_leaves_the_package_ungrouped(tmp_path: Path, family: dict[str, str]) -> None:
    assert read_manifest(write(tmp_path, interface={"family": family})).family is None


@pytest.mark.parametrize(
    ("fields", "start"),
    [
        ({"runtime": ""}, "/runtime: Expected `object | null`, got `str`; write {"),
        ({"desktop": {}}, "/desktop/entry: is required; write the path"),
        ({"desktop": {"entry": "../x.js"}}, "/desktop/entry: '../x.js' leads out of the package"),
        ({"minimum_wuu_version": "1.0.0"}, "/minimum_wuu_version: '1.0.0' is not a version of Wuu; write"),
        (
            {"minimumWuuVersion": 2026},
            "/minimumWuuVersion: Expected `str`, got `int`; write a version of Wuu",
        ),
        (
            {"minimumWuuVersion": "2026.1.0", "minimum_wuu_version": "2026.1.0"},
            "/minimumWuuVersion: is another word for /minimum_wuu_version, which is given, too; leave one",
        ),
        ({"platforms": "linux"}, "/platforms: Expected `array`, got `str`; write an array of platforms"),
        ({"platforms": ["Linux!"]}, "/platforms/0: 'Linux!' is not a platform; write an array of platforms"),
        ({"requires": [1]}, "/requires/0: Expected `str`, got `int`; write an array of ids"),
        ({"requires": ["A"]}, "/requires/0: 'A' is not the id of a package; write an array of ids"),
        ({"requires": ["a", "a"]}, "/requires/1: 'a' is named twice; write an array of ids"),
        ({"requires": ["example.notes"]}, "/requires/0: 'example.notes' is the package itself; write"),
        ({"dependencies": {"a": "^1"}}, "/dependencies: Expected `array`, got `object`; write an array of {"),
        ({"dependencies": [{"version": "1"}]}, "/dependencies/0/id: is required; write the id of another"),
        (
            {"dependencies": [{"id": "example.notes"}]},
            "/dependencies/0/id: 'example.notes' is the package itself",
        ),
        (
            {"dependencies": [{"id": "a"}, {"id": "a"}]},
            "/dependencies/1/id: 'a' is named twice; write the id",
        ),
        (
            {"dependencies": [{"id": "a", "version": "latest"}]},
            "/dependencies/0/version: 'latest' is not a range of SemVer versions; write a range such as",
        ),
        (
            {"dependencies": [{"id": "a", "version": 1}]},
            "/dependencies/0/version: Expected `str`, got `int`; write",
        ),
        (
            {"dependencies": [{"id": "a", "optional": "no"}]},
            "/dependencies/0/optional: Expected `bool`, got `str`",
        ),
        (
            {"requires": ["a"], "dependencies": [{"id": "a", "optional": True}]},
            "/dependencies/0/optional: 'a' is in /requires, so that it cannot be optional; write true",
        ),
        (
            {"dependencies": [{"id": "a"}, {"id": "a", "optional": True}]},
            "/dependencies/1/id: 'a' is named twice; write the id",
        ),
        ({"breaks": "a"}, "/breaks: Expected `array`, got `str`; write an array of ids"),
        ({"breaks": ["example.notes"]}, "/breaks/0: 'example.notes' is the package itself"),
        ({"conflicts": [""]}, "/conflicts/0: '' is not the id of a package"),
        ({"skills": 7}, "/skills: Expected `str | object | array`, got `int`"),
        ({"hooks": True}, "/hooks: Expected `str | object | array`, got `bool`"),
        ({"mcp_servers": []}, "/mcp_servers: Expected `object`, got `array`; write an object of servers"),
        ({"mcpServers": {"b": {}, "a": 1}}, "/mcpServers/a: Expected `object`, got `int`"),
        (
            {"contributes": {"settings": {"x": {"type": "boolean"}, "y": {"type": "date"}}}},
            "/contributes/settings/y/type: Invalid enum value 'date'",
        ),
        ({"contributes": []}, "/contributes: Expected `object`, got `array`"),
        (
            {"contributes": {"slots": []}},
            "/contributes/slots: is no longer a contribution; use contributes.presenters",
        ),
        ({"contributes": {"surfaces": {}}}, "/contributes/surfaces: is no longer a contribution; use"),
        ({"contributes": {"themes": [{"id": "a"}]}}, "/contributes/themes/0/name: is required"),
        (
            {"contributes": {"commands": [{"id": "a", "kind": "x"}]}},
            "/contributes/commands/0/kind: Invalid enum",
        ),
        ({"contributes": {"navigation": {}}}, "/contributes/navigation: Expected `array`, got `object`"),
        (
            {"contributes": {"workspaceTools": ["a"]}},
            "/contributes/workspaceTools/0: Expected `object`, got `str`",
        ),
        ({"interface": "x"}, "/interface: Expected `object`, got `str`"),
        ({"interface": {"family": {"id": 1}}}, "/interface/family/id: Expected `str`, got `int`"),
        ({"requested_permissions": "network"}, "/requested_permissions: Expected `array`, got `str`"),
        (
            {"storageTransfers": {"exports": [TRANSFER | {"scope": "workspace"}]}},
            "/storageTransfers/exports/0/scope: Invalid enum value 'workspace'",
        ),
        (
            {"storageTransfers": {"imports": [TRANSFER | {"keyPrefix": ""}]}},
            "/storageTransfers/imports/0/keyPrefix: Expected `str` of length >= 1",
        ),
    ],
)
def test_a_field_of_another_type_is_shown_with_its_pointer(
    tmp_path: Path, fields: dict[str, object], start: str
) -> None:
    assert message(write(tmp_path, **fields)).startswith(start)


@pytest.mark.parametrize("field", ["runtime", "desktop"])
def test_null_is_no_way_to_leave_a_field_out(tmp_path: Path, field: str) -> None:
    path = write(tmp_path, **{field: None}) / "plugin.json"
    path.write_text(path.read_text().removesuffix("}") + f', "{field}": null}}')
    assert message(tmp_path).startswith(f"/{field}: is null; ")
