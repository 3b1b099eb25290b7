"""Hosts that a package is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from router.packages import platform, read_manifest
from router.packages.platform import unsuitable
from tests.packages.making import write


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "here", lambda: ("linux", "x64"))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"platforms": []},
        {"platforms": ["darwin", "linux"]},
        {"platforms": ["linux-x64"]},
        {"platforms": ["linux-amd64"]},
        {"minimum_wuu_version": "2026.1108.0"},
        {"minimumWuuVersion": "2026.901.12"},
    ],
)
def test_a_package_for_this_host_is_suitable(tmp_path: Path, fields: dict[str, object]) -> None:
    assert unsuitable(read_manifest(write(tmp_path, **fields))) == ""


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        (
            {"platforms": ["darwin", "linux-arm64", "windows"]},
            "it is for darwin, linux-arm64, windows and not for linux-x64; "
            "use one that is made for this platform",
        ),
        (
            {"minimum_wuu_version": "2026.1108.1"},
            "it needs Wuu 2026.1108.1 and this mesh stands for 2026.1108.0; use an older version of it",
        ),
        (
            {"minimumWuuVersion": "2027.1.0"},
            "it needs Wuu 2027.1.0 and this mesh stands for 2026.1108.0; use an older version of it",
        ),
    ],
)
def test_a_package_for_another_host_says_so(tmp_path: Path, fields: dict[str, object], why: str) -> None:
    assert unsuitable(read_manifest(write(tmp_path, **fields))) == why


def test_this_host_has_a_name() -> None:
    assert all(platform.here())
