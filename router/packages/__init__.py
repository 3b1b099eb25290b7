"""Packages: the directories that modules come from."""

from router.packages.discovery import Discovery, directories_of, discover, first_party_directory
from router.packages.manifest import BadPackage, Manifest, Runtime, read_manifest
from router.packages.package import Package

__all__ = [
    "BadPackage",
    "Discovery",
    "Manifest",
    "Package",
    "Runtime",
    "directories_of",
    "discover",
    "first_party_directory",
    "read_manifest",
]
