"""`wuu-mesh plugin list`: what is installed, and what is trusted in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from router.cli.answer import emit
from router.cli.plugin.telling import about_packages, tell
from router.cli.terminal import console, print_table, printable, table
from router.home import Home
from router.packages.catalog import trusted_in_place
from router.packages.installation import tidy
from router.packages.ledger import Installed, Ledger, Trusted
from router.packages.manifest import BadPackage, read_manifest
from router.packages.package import Package
from router.packages.platform import unsuitable

IN_PLACE = "in place"


def show(root: Path | None, *, json: bool) -> None:
    """Prints the packages of a home."""
    with about_packages():
        home = Home.at(root)
        tidy(home)
        ledger = Ledger.read(home)
        installed = [_installed(ledger, row) for row in ledger.installed.values()]
        trusted = [_trusted(ledger, each) for each in trusted_in_place(ledger)]
        development = [each.directory for each in ledger.development]
        if json:
            emit({"installed": installed, "trusted": trusted, "development": development})
            return
        rows = table("package", "version", "trust", "enabled", "source", "family")
        for each in (*installed, *trusted):
            trust = "trusted" if not each["problem"] else "changed" if each["trusted"] else "untrusted"
            enabled = IN_PLACE if "enabled" not in each else "enabled" if each["enabled"] else "disabled"
            family = each["family"].name if each["family"] else ""
            rows.add_row(
                each["id"],
                each["version"] or "",
                trust,
                enabled,
                printable(each["source"]),
                printable(family),
            )
        if installed or trusted:
            print_table(console(), rows)
        for each in (*installed, *trusted):
            if each["problem"]:
                tell(f"{each['id']}: {each['problem']}")
        for directory in development:
            tell(f"authorized for development: {directory}")
        if not (installed or trusted or development):
            tell("nothing is installed; `wuu-mesh plugin install DIR|ZIP` does that")


def _installed(ledger: Ledger, row: Installed) -> dict[str, Any]:
    return {
        "id": row.id,
        "version": row.version,
        "fingerprint": row.fingerprint,
        "trusted": ledger.trusts(row.id, row.fingerprint, row.source),
        "enabled": row.enabled,
        "source": row.source,
        "root": str(row.root),
        **_read(ledger, row.root),
    }


def _trusted(ledger: Ledger, trusted: Trusted) -> dict[str, Any]:
    root = Path(trusted.source.removeprefix("directory:"))
    read = _read(ledger, root)
    return {
        "id": trusted.id,
        "version": read.pop("version", None),
        "fingerprint": trusted.fingerprint,
        "trusted": True,
        "source": trusted.source,
        "root": str(root),
        **read,
    }


def _read(ledger: Ledger, root: Path) -> dict[str, Any]:
    """What the package says now, and why it may not run; `null` where it may."""
    try:
        manifest = read_manifest(root)
    except BadPackage as bad:
        return {"family": None, "problem": bad.message}
    problem = ledger.verdict(Package(root, manifest)) or unsuitable(manifest)
    return {"version": manifest.version, "family": manifest.family, "problem": problem or None}
