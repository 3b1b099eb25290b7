"""Reader: threads in which packages are read, since they may be large and their disk slow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Read = TypeVar("Read")

# Not the loop's own, which is waited for at its end: whoever stops does not wait for a file to be read.
_THREADS = ThreadPoolExecutor(max_workers=4, thread_name_prefix="packages")


async def beside(read: Callable[..., Read], *arguments: Any) -> Read:
    """What `read` returns, while everything else goes on. Cancelling it leaves the reading to itself."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, read, *arguments)
