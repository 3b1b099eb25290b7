"""Unusable: what to do about a file or directory, nearly always of the home, that cannot be used."""

from __future__ import annotations

import errno

_REMEDIES = {
    errno.EACCES: "Allow yourself to use it, or use another home with --home DIR.",
    errno.EPERM: "Allow yourself to use it, or use another home with --home DIR.",
    errno.ENOSPC: "Make room, or use another home with --home DIR.",
    errno.EDQUOT: "Make room, or use another home with --home DIR.",
    errno.EMFILE: "Raise the limit of open files (`ulimit -n`).",
    errno.ENFILE: "Close something: the system has no file descriptors left.",
    errno.ENAMETOOLONG: "Use a shorter home with --home DIR.",
    errno.ENOTDIR: "Move it out of the way, or use another home with --home DIR.",
    errno.EEXIST: "Move it out of the way, or use another home with --home DIR.",
    errno.EISDIR: "Move it out of the way, or use another home with --home DIR.",
}


def remedy_of(unusable: OSError) -> str:
    """What to do about it."""
    return _REMEDIES.get(unusable.errno or 0, "Use another home with --home DIR.")
