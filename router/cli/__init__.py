"""`wuu-mesh`: a thin client of the control API."""

import errno
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """The console command."""
    _open_streams()
    try:
        status = _status()
    finally:
        _flush()
    # Everything is closed; gRPC's threads only make the interpreter's own end slow.
    os._exit(status)


def _status() -> int:
    """Runs the command; the exit code that it ends with."""
    try:
        _run()
    except SystemExit as ended:
        return int(ended.code or 0)
    except KeyboardInterrupt:
        # Before a command runs; a command has its own word for it.
        return 130
    except OSError as lost:
        if lost.errno != errno.EPIPE:
            sys.stderr.write(f"wuu-mesh: {lost.strerror}\n")
        return 1
    return 0


def _run() -> None:
    if sys.argv[1:] == ["--version"]:
        # Typer takes far longer to come than the answer.
        from router.cli.version import print_version

        print_version()
        return
    from router.cli.app import app
    from router.cli.complete import join_words

    join_words()
    app()


def _open_streams() -> None:
    """Whoever starts a command may have closed them; Python then has None in their place."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _flush() -> None:
    """Writes what is left; what nobody can take is dropped, or Python would complain of it in the end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
