"""The guardian: spawns every child and lets none outlive the router.

A program of its own, on the standard library alone and free of gRPC: a process with gRPC in it must not fork.
The router starts it with one end of a socket pair as standard input and speaks JSON lines with it:

    → {"op": "spawn", "child", "role", "argv", "cwd", "env", "log", "line"?, "host"?, "attach"?}
    ← {"op": "spawned", "child", "pid"} or {"op": "refused", "child", "errno", "error"}
    → {"op": "close", "child"}            the lifeline: the child's standard input ends
    → {"op": "kill", "child", "signal"}   to the process group
    ← {"op": "exited", "child", "status", "signal"}
    → {"op": "ping"}                      is it still there?
    ← {"op": "pong"}

Roles: an `instance` reads `line` (the handshake) and keeps its lifeline; a `host` is an instance that gets a
SOCK_SEQPACKET socket beside; a `plugin` has both its pipes handed to a host with `attach` (see
`contract.handshake`). Every child leads a process group of its own; what is left of the group goes with its
leader. When the router's socket closes, everything ends within a second.
"""

import ctypes
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import time
from typing import IO

PR_SET_CHILD_SUBREAPER = 36
TERM_GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL when the router is gone."""
KILL_WAIT = 0.1
"""Seconds after which one looks again for children that were killed."""
ATTACH_TIMEOUT = 1.0
"""Seconds that a host may take to make room for one more plugin."""


class Guardian:
    """The children of one router."""

    def __init__(self, router: socket.socket) -> None:
        self.router = router
        self.unread = b""
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self.names: dict[int, str] = {}
        self.lifelines: dict[str, IO[bytes]] = {}
        self.attachments: dict[str, socket.socket] = {}
        self.woken, self.wake = os.pipe()
        """The signals that came: what waits is woken by them."""

    def run(self) -> None:
        """Serves the router until its socket closes, then ends everything."""
        os.set_blocking(self.wake, False)
        signal.set_wakeup_fd(self.wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Not SIG_IGN: every child would inherit it, and be deaf to the SIGTERM that asks it to end.
            signal.signal(ignored, lambda *_: None)
        try:
            with selectors.DefaultSelector() as ready:
                ready.register(self.router, selectors.EVENT_READ)
                ready.register(self.woken, selectors.EVENT_READ)
                serving = True
                while serving:
                    for key, _ in ready.select():
                        if key.fileobj is self.router:
                            serving = self.serve()
                        else:
                            os.read(self.woken, 4096)
                    self.reap()
        finally:
            self.end()

    def serve(self) -> bool:
        """Carries out what the router asks; False once the router is gone."""
        try:
            received = self.router.recv(65536)
        except ConnectionError:
            received = b""
        *lines, self.unread = (self.unread + received).split(b"\n")
        for line in lines:
            request = json.loads(line)
            getattr(self, request.pop("op"))(**request)
        return bool(received)

    def tell(self, **message: object) -> None:
        """Sends one line to the router, if it is still there."""
        try:
            self.router.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # The next recv tells that the router is gone.

    def spawn(
        self,
        child: str,
        role: str,
        argv: list[str],
        cwd: str,
        env: dict[str, str],
        log: str,
        line: str = "",
        host: str = "",
        attach: object = None,
    ) -> None:
        """Starts a child in a process group of its own."""
        inherited: tuple[int, ...] = ()
        try:
            output = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError as failure:
            self.refuse(child, failure)
            return
        if role == "host":
            try:
                ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            except OSError as failure:
                os.close(output)
                self.refuse(child, failure)
                return
            # A host that does not read may fill its socket; it must not keep the guardian from the others.
            ours.settimeout(ATTACH_TIMEOUT)
            inherited = (theirs.fileno(),)
            line = json.dumps({"version": 1, "attach_fd": theirs.fileno()})
        try:
            process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if role == "plugin" else output,
                stderr=output,
                process_group=0,
                pass_fds=inherited,
                bufsize=0,
            )
        except (OSError, ValueError) as failure:
            if role == "host":
                ours.close()
            self.refuse(child, failure, argv[0])
            return
        finally:
            os.close(output)
            if role == "host":
                theirs.close()
        self.children[child] = process
        self.names[process.pid] = child
        self.tell(op="spawned", child=child, pid=process.pid)
        if role == "host":
            self.attachments[child] = ours
        if role == "plugin":
            self.attach(process, host, attach)
        else:
            assert process.stdin is not None
            self.lifelines[child] = process.stdin
            try:
                process.stdin.write(line.encode() + b"\n")
            except OSError:
                pass  # It is gone already; its exit is reported.

    def refuse(self, child: str, failure: OSError | ValueError, command: str = "") -> None:
        """Tells the router that a child was not started, and why; `errno` where its command is at fault."""
        number = failure.errno if isinstance(failure, OSError) and failure.filename == command else None
        self.tell(op="refused", child=child, errno=number, error=str(failure))

    def attach(self, process: subprocess.Popen[bytes], host: str, message: object) -> None:
        """Hands a plugin's pipes to its host."""
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin, process.stdout:
            try:
                descriptors = [process.stdin.fileno(), process.stdout.fileno()]
                socket.send_fds(self.attachments[host], [json.dumps(message).encode()], descriptors)
            except (OSError, KeyError):
                self.signal_group(process.pid, signal.SIGKILL)

    def ping(self) -> None:
        """Says that it is still there."""
        self.tell(op="pong")

    def close(self, child: str) -> None:
        """Ends a child's standard input."""
        if lifeline := self.lifelines.pop(child, None):
            lifeline.close()

    def kill(self, child: str, signal: int) -> None:
        """Signals a child's process group."""
        if process := self.children.get(child):
            self.signal_group(process.pid, signal)
            # It is not collected, so its id is its own, even where it has left its group.
            if os.getpgid(process.pid) != process.pid:
                try:
                    os.kill(process.pid, signal)
                except PermissionError:
                    pass  # It has become another user's.

    def signal_group(self, group: int, number: int) -> None:
        """Signals a process group that may be gone, or another user's."""
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            pass

    def reap(self) -> None:
        """Collects every exit, and what the leader of a group left behind."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            child = self.names.pop(ended.si_pid, None)
            if child:
                # Before the leader is collected, so that its id cannot belong to anybody else.
                self.signal_group(ended.si_pid, signal.SIGKILL)
            os.waitpid(ended.si_pid, 0)
            if child:
                process = self.children.pop(child)
                killed = ended.si_code != os.CLD_EXITED
                process.returncode = -ended.si_status if killed else ended.si_status
                self.close(child)
                if attachment := self.attachments.pop(child, None):
                    attachment.close()
                self.tell(
                    op="exited",
                    child=child,
                    status=None if killed else ended.si_status,
                    signal=ended.si_status if killed else None,
                )

    def end(self) -> None:
        """Ends every group, then whatever else has become our child."""
        for child in list(self.lifelines):
            self.close(child)
        for group in list(self.names):
            self.signal_group(group, signal.SIGTERM)
        deadline = time.monotonic() + TERM_GRACE
        while self.names and time.monotonic() < deadline:
            self.wait(deadline - time.monotonic())
        for group in list(self.names):
            self.signal_group(group, signal.SIGKILL)
        # Orphans of orphans come to us one generation at a time.
        foreign: set[int] = set()
        while orphans := self.orphans() - foreign:
            for pid in orphans:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass  # It ended by itself.
                except PermissionError:
                    foreign.add(pid)  # Another user's, whom we cannot end.
            self.wait(KILL_WAIT)

    def wait(self, within: float) -> None:
        """Collects what has exited, once something has, or after so many seconds."""
        if select.select([self.woken], [], [], max(within, 0.0))[0]:
            os.read(self.woken, 4096)
        self.reap()

    def orphans(self) -> set[int]:
        """Our children, zombies included."""
        with open(f"/proc/self/task/{os.getpid()}/children") as children:
            return {int(pid) for pid in children.read().split()}


def main() -> None:
    """The program."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    Guardian(socket.socket(fileno=os.dup(0))).run()


if __name__ == "__main__":
    main()
