"""Packages: the directories that modules come from."""

from router.packages.discovery import (
    Discovery,
    directories_of,
    discover,
    first_party_directory,
    installed,
)
from router.packages.ledger import Ledger, authorize
from router.packages.manifest import BadPackage, Manifest, Runtime, read_manifest
from router.packages.package import Package
from router.packages.platform import unsuitable
from router.packages.relation import Relation, admits, check_range, relations
from router.packages.snapshot import prune

__all__ = [
    "BadPackage",
    "Discovery",
    "Ledger",
    "Manifest",
    "Package",
    "Relation",
    "Runtime",
    "admits",
    "authorize",
    "check_range",
    "directories_of",
    "discover",
    "first_party_directory",
    "installed",
    "prune",
    "read_manifest",
    "relations",
    "unsuitable",
]
