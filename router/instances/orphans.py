"""Orphans: processes whose guardian was killed. They become the router's, which ends them with itself."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

from router.instances.guardian import PR_SET_CHILD_SUBREAPER

END_WAIT = 1.0
"""Seconds that the system has to end processes that were killed."""


def adopt_orphans() -> None:
    """Lets orphans become this process's. Raises OSError where the system has no subreapers."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def end_orphans() -> None:
    """Kills whatever is still below this process. What became another user's is left."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return  # There is nobody, as nearly always.
    import psutil

    left: set[psutil.Process] = set()
    while orphans := set(psutil.Process().children(recursive=True)) - left:
        for orphan in orphans:
            with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                orphan.kill()
        _, alive = psutil.wait_procs(orphans, timeout=END_WAIT)
        left.update(alive)
