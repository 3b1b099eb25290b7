"""Packages in ZIP files, and what is refused of them."""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.packages import BadPackage, Package, read_manifest
from router.packages import snapshot as snapshots
from router.packages.archive import unpack
from router.packages.entry import ENTRY_LIMIT
from router.packages.snapshot import Staging
from tests.packages.making import write
from tests.packages.zipping import MANIFEST_TEXT, entry, pack, patched

ENCRYPTED = 0x1
ZEROS = b"\0" * (1 << 20)


def unpacked(archive: Path, into: Path) -> Path:
    into.mkdir()
    unpack(archive, Staging(into, archive, lambda done, expected: None))
    return into


def refused(archive: Path, tmp_path: Path) -> str:
    into = tmp_path / "into"
    with pytest.raises(BadPackage) as bad:
        unpacked(archive, into)
    assert bad.value.root == archive
    outside = [path for path in tmp_path.rglob("*") if not path.is_relative_to(into) and path != archive]
    assert outside in ([], [into])
    return bad.value.message


def test_an_archive_has_the_fingerprint_of_its_directory(tmp_path: Path) -> None:
    root = write(tmp_path / "p")
    (root / "bin").mkdir()
    (root / "bin" / "run").write_text("#!/bin/sh\n")
    (root / "bin" / "run").chmod(0o755)
    (root / "empty").write_text("")
    with zipfile.ZipFile(tmp_path / "p.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(root.rglob("*")):
            file.write(path, path.relative_to(root))
    into = unpacked(tmp_path / "p.zip", tmp_path / "into")
    assert Package(into, read_manifest(into)).fingerprint == Package(root, read_manifest(root)).fingerprint
    assert os.access(into / "bin" / "run", os.X_OK)


def test_a_package_may_lie_in_a_single_directory(tmp_path: Path) -> None:
    into = unpacked(
        pack(tmp_path / "p.zip", ("package/src/x", "1"), manifest="package/plugin.json"), tmp_path / "into"
    )
    assert sorted(str(path.relative_to(into)) for path in into.rglob("*")) == ["plugin.json", "src", "src/x"]


def test_what_does_not_count_is_left_out(tmp_path: Path) -> None:
    members = [("node_modules/x/y", "1"), ("src/__pycache__/a", "1"), (".git/config", "1"), ("src/x", "1")]
    into = unpacked(pack(tmp_path / "p.zip", *members), tmp_path / "into")
    assert sorted(str(path.relative_to(into)) for path in into.rglob("*") if path.is_file()) == [
        "plugin.json",
        "src/x",
    ]


@pytest.mark.parametrize(
    ("members", "manifest"),
    [([], ""), ([("a/x", "1"), ("b/plugin.json", MANIFEST_TEXT)], ""), ([("x", "1")], "a/b/plugin.json")],
)
def test_an_archive_without_a_manifest_at_its_top_is_refused(
    tmp_path: Path, members: list[tuple[str, str]], manifest: str
) -> None:
    archive = pack(tmp_path / "p.zip", *members, manifest=manifest)
    assert refused(archive, tmp_path).startswith("plugin.json: is not at its top")


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/../../x", "C:\\x", "c:/x", "a\\..\\x", "a/./b", "a//b", "a\0b", "a\nb"]
)
def test_a_path_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    assert refused(pack(tmp_path / "p.zip", (entry(name), "1")), tmp_path).startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (stat.S_IFLNK, "is a symbolic link"),
        (stat.S_IFIFO, "is not a plain file"),
        (stat.S_IFSOCK, "is not a plain file"),
        (stat.S_IFBLK, "is not a plain file"),
        (stat.S_IFCHR, "is not a plain file"),
        (stat.S_IFDIR, "is not a plain file"),
    ],
)
def test_a_link_or_a_special_file_is_refused(tmp_path: Path, kind: int, why: str) -> None:
    for system in (0, 3):
        archive = pack(tmp_path / f"{system}.zip", (entry("x", mode=kind | 0o777, system=system), "/etc"))
        with pytest.raises(BadPackage) as bad:
            unpacked(archive, tmp_path / f"into{system}")
        assert bad.value.message.startswith(f"x: {why}")


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("a", "A"), "A: is the same as a"),
        (("src/x", "Src/y"), "Src/y: is the same as src"),
        (("\u00e4", "a\u0308"), "a\u0308: is the same as \u00e4"),
        (("a", "a/b"), "a/b: is a file and a directory"),
        (("PLUGIN.json",), "PLUGIN.json: is the same as plugin.json"),
    ],
)
def test_names_that_collide_are_refused(tmp_path: Path, names: tuple[str, ...], why: str) -> None:
    archive = pack(tmp_path / "p.zip", *((name, "1") for name in names))
    assert refused(archive, tmp_path).startswith(why)


def test_a_name_given_twice_is_refused(tmp_path: Path) -> None:
    archive = patched(pack(tmp_path / "p.zip", ("a1", "1"), ("a2", "2")), b"a2", b"a1")
    assert refused(archive, tmp_path) == "a1: is there twice"


def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    archive = pack(tmp_path / "p.zip", ("secret", "1"))
    with zipfile.ZipFile(archive) as file:
        at = file.start_dir
    text = bytearray(archive.read_bytes())
    second = text.index(b"PK\1\2", at + 4)
    text[second + 8] |= ENCRYPTED
    archive.write_bytes(text)
    assert refused(archive, tmp_path) == "secret: is encrypted; a package is not"


@pytest.mark.parametrize("packed", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_another_compression_is_refused(tmp_path: Path, packed: int) -> None:
    archive = pack(tmp_path / "p.zip", packed=packed)
    assert refused(archive, tmp_path) == "plugin.json: is neither stored nor deflated; pack it so"


def test_a_name_that_is_not_marked_as_utf_8_is_refused(tmp_path: Path) -> None:
    archive = patched(pack(tmp_path / "p.zip", ("abc", "1")), b"abc", b"\x84bc")
    assert "has a name that is not marked as UTF-8" in refused(archive, tmp_path)


def test_what_is_no_zip_file_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "p.zip"
    for text in (b"", b"PK", b"x" * 100_000):
        archive.write_bytes(text)
        with pytest.raises(BadPackage, match="is no ZIP file"):
            unpack(archive, Staging(tmp_path, archive, lambda done, expected: None))


def test_more_entries_than_a_package_has_are_refused(tmp_path: Path) -> None:
    archive = pack(tmp_path / "p.zip", *((f"f{number}", "") for number in range(ENTRY_LIMIT)))
    assert refused(archive, tmp_path).startswith("the package has more than 10000 entries")


def test_more_entries_than_were_told_are_refused_before_they_are_read(tmp_path: Path) -> None:
    archive = pack(tmp_path / "p.zip", *((f"f{number}", "") for number in range(ENTRY_LIMIT)))
    text = bytearray(archive.read_bytes())
    struct.pack_into("<2H", text, text.rindex(b"PK\5\6") + 8, 1, 1)
    archive.write_bytes(text)
    assert "the package has more than 10000 entries" in refused(archive, tmp_path)


def test_a_zip64_file_is_refused(tmp_path: Path) -> None:
    archive = pack(tmp_path / "p.zip")
    text = archive.read_bytes()
    at = text.rindex(b"PK\5\6")
    archive.write_bytes(text[:at] + b"PK\6\7" + b"\0" * 16 + text[at:])
    assert "is a ZIP64 file" in refused(archive, tmp_path)


def test_a_bomb_is_refused_by_what_its_headers_say(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("plugin.json", MANIFEST_TEXT)
        with file.open("zeros", "w") as member:
            for _ in range(513):
                member.write(ZEROS)
    assert (tmp_path / "p.zip").stat().st_size < len(ZEROS)
    assert refused(tmp_path / "p.zip", tmp_path).startswith("the package has more than 512 MiB")
    assert not list((tmp_path / "into").iterdir())


def test_a_bomb_whose_headers_lie_is_refused_by_what_comes_out(tmp_path: Path) -> None:
    archive = pack(tmp_path / "p.zip", ("zeros", ZEROS))
    text = archive.read_bytes()
    size = struct.pack("<I", len(ZEROS))
    assert text.count(size) == 2
    archive.write_bytes(text.replace(size, struct.pack("<I", 10)))
    assert refused(archive, tmp_path).startswith("zeros: its bytes are not what the archive says")
    assert (tmp_path / "into" / "zeros").stat().st_size <= snapshots.CHUNK


def test_the_bytes_of_all_files_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "SIZE_LIMIT", 1 << 20)
    archive = pack(tmp_path / "p.zip", ("a", ZEROS[: 600 << 10]), ("b", ZEROS[: 600 << 10]))
    assert refused(archive, tmp_path).startswith("b: the package has more than 1 MiB")


def test_entries_that_overlap_are_counted_each(tmp_path: Path) -> None:
    """Ten entries over the bytes of one are ten files, of which the directory says what the bytes do not."""
    archive = patched(pack(tmp_path / "p.zip", ("a1", ZEROS), ("a2", "2")), b"a2", b"a3")
    text = bytearray(archive.read_bytes())
    first = text.index(b"PK\1\2", text.rindex(b"PK\3\4"))
    one = text.index(b"PK\1\2", first + 4)
    two = text.index(b"PK\1\2", one + 4)
    text[two + 42 : two + 46] = text[one + 42 : one + 46]
    archive.write_bytes(text)
    assert refused(archive, tmp_path).startswith("a3: is not what the directory says")


@pytest.mark.parametrize("packed", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_bytes_that_changed_are_refused(tmp_path: Path, packed: int) -> None:
    archive = pack(tmp_path / "p.zip", ("x", bytes(range(256)) * 10), packed=packed)
    text = bytearray(archive.read_bytes())
    text[text.index(b"PK\1\2") - 20] ^= 0xFF
    archive.write_bytes(text)
    assert "pack it anew" in refused(archive, tmp_path)


def test_an_archive_that_ends_early_or_goes_on_is_refused(tmp_path: Path) -> None:
    raw = zlib.compressobj(wbits=-15)
    packed = raw.compress(b"hello" * 100) + raw.flush()
    for cut, why in ((packed[:-3], "ends in the middle"), (packed + b"xyz", "has bytes behind its end")):
        archive = pack(tmp_path / "p.zip", ("x", cut), packed=zipfile.ZIP_STORED)
        with zipfile.ZipFile(archive) as file:
            local = file.getinfo("x").header_offset
        text = bytearray(archive.read_bytes())
        central = text.rindex(b"PK\1\2")
        for method, size in ((local + 8, local + 22), (central + 10, central + 24)):
            struct.pack_into("<H", text, method, zipfile.ZIP_DEFLATED)
            struct.pack_into("<I", text, size, 500)
        archive.write_bytes(text)
        with pytest.raises(BadPackage, match=why):
            unpacked(archive, tmp_path / why)


@settings(max_examples=150)
@given(st.data())
def test_whatever_became_of_an_archive_it_is_unpacked_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("archive")
    archive = pack(directory / "p.zip", ("src/x", "hello" * 50), ("y", "1"))
    text = bytearray(archive.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    archive.write_bytes(text[: data.draw(st.integers(0, len(text)))] if data.draw(st.booleans()) else text)
    into = directory / "into"
    try:
        unpacked(archive, into)
    except BadPackage as bad:
        assert bad.root == archive
    else:
        assert (into / "plugin.json").is_file()
    assert {path.name for path in directory.iterdir()} == {"p.zip", "into"}
