"""Relation: what a package says of others, and the ranges of versions in which it says so.

Source: *Plugin authoring reference*, the package root: `requires`, `dependencies`. A range is npm's; a
prerelease is admitted only where the range names one of the same version.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import semver

if TYPE_CHECKING:
    from router.packages.manifest import Manifest

RANGE_LIMIT = 256
"""Characters that a range may have."""

_NUMBER_PAST_ALL = re.compile(r"\d{16,}")
"""npm takes numbers up to 2^53 - 1, which has sixteen digits."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A package that another one needs, or uses where it is there."""

    module: str
    """Its id."""
    range: str
    """The versions that will do; empty: every one, prereleases too."""
    optional: bool
    """Whether the other does without it."""


def relations(manifest: Manifest) -> tuple[Relation, ...]:
    """`requires` and `dependencies` as one, in the order in which they are named; each package once."""
    merged = {module: Relation(module, "", False) for module in manifest.requires}
    for named in manifest.dependencies:
        merged[named.id] = Relation(named.id, named.version, named.optional)
    return tuple(merged.values())


def admits(range: str, version: str) -> bool:  # noqa: A002 (the word of the source)
    """Whether a version, strict SemVer, is in a range. Raises ValueError where either is none."""
    if why := check_range(range):
        raise ValueError(why)
    semver.Version.parse(version)
    if not range:
        # What is left out accepts any version; `*` is a range, which admits no prerelease.
        return True
    import nodesemver  # It takes longer to load than a package to be read.

    return bool(nodesemver.satisfies(version, range, False))


@lru_cache(maxsize=4096)
def check_range(range: str) -> str:  # noqa: A002
    """Why a text is no range of versions; empty where it is one."""
    if not range:
        return ""
    if len(range) > RANGE_LIMIT:
        return f"has more than {RANGE_LIMIT} characters"
    if _NUMBER_PAST_ALL.search(range):
        return f"'{range}' has a number of more than 15 digits"
    import nodesemver

    try:
        nodesemver.make_range(range, False)
    except ValueError:
        return f"'{range}' is not a range of SemVer versions"
    return ""


def unmet(relation: Relation, versions: Mapping[str, str]) -> str:
    """Why a package that is needed is not there, by the versions of those that are; empty where it is."""
    if relation.module not in versions:
        return f"{relation.module} is not there"
    version = versions[relation.module]
    if not admits(relation.range, version):
        return f"{relation.module} is there in version {version}, which '{relation.range}' does not admit"
    return ""
