"""A private nginx that passes gRPC on to one Unix socket: what a proxy that decides nothing costs."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.benchmark import Failed

_LISTENS_WITHIN = 5.0
_POLL = 0.01

_CONFIGURATION = """\
daemon off;
worker_processes 1;
pid {home}/pid;
error_log {home}/error.log;
{user}
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    large_client_header_buffers 4 64k;
    keepalive_requests 1000000000;
    http2_max_concurrent_streams 1024;
    upstream provider {{
        server unix:{provider};
        keepalive 128;
        keepalive_requests 1000000000;
    }}
    server {{
        listen unix:{home}/socket http2;
        location / {{
            grpc_buffer_size 64k;
            grpc_pass grpc://provider;
        }}
    }}
}}
"""


def find_nginx() -> str | None:
    """The nginx of this machine; None where there is none."""
    return shutil.which("nginx", path=os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin")))


@contextmanager
def nginx(program: str, provider: str) -> Iterator[Path]:
    """An nginx in front of the provider's socket; gives the path of its own."""
    home = Path(tempfile.mkdtemp(prefix="wuu-bench-nginx-"))
    configuration = home / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(home=home, user=_user(), provider=provider))
    process = subprocess.Popen(
        [program, "-p", str(home), "-c", str(configuration), "-e", str(home / "error.log")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_listening(process, home)
        yield home / "socket"
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(home)


def _user() -> str:
    """The directive that keeps the workers of a root's nginx root: others cannot open a 0700 directory."""
    if os.getuid():
        return ""
    user = pwd.getpwuid(0)
    return f"user {user.pw_name} {grp.getgrgid(user.pw_gid).gr_name};"


def _wait_until_listening(process: subprocess.Popen[bytes], home: Path) -> None:
    deadline = time.monotonic() + _LISTENS_WITHIN
    with socket.socket(socket.AF_UNIX) as probe:
        while probe.connect_ex(str(home / "socket")):
            if process.poll() is not None or time.monotonic() > deadline:
                log = home / "error.log"
                said = log.read_text(errors="replace").strip() if log.exists() else "nothing"
                raise Failed(f"nginx does not listen; it said: {said}")
            time.sleep(_POLL)
