"""nginx as a gRPC proxy between two Unix sockets."""

from __future__ import annotations

import grp
import os
import pwd
import shutil
from collections.abc import Sequence
from pathlib import Path

from bench.proxy import Proxy

_CONFIGURATION = """\
daemon off;
worker_processes 1;
pid {home}/pid;
error_log stderr;
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
    client_max_body_size 0;
    keepalive_requests 1000000000;
    http2_max_concurrent_streams 1024;
    upstream provider {{
        server unix:{provider};
        keepalive 128;
        keepalive_requests 1000000000;
    }}
    server {{
        listen unix:{at} http2;
        location / {{
            grpc_buffer_size 64k;
            grpc_pass grpc://provider;
        }}
    }}
}}
"""


def _find() -> str | None:
    return shutil.which("nginx", path=os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin")))


def _command(program: str, home: Path, at: Path, provider: str) -> Sequence[str]:
    configuration = home / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(home=home, user=_user(), at=at, provider=provider))
    return (program, "-p", str(home), "-c", str(configuration), "-e", "stderr")


def _user() -> str:
    """The directive that keeps the workers of a root's nginx root: others cannot open a 0700 directory."""
    if os.getuid():
        return ""
    user = pwd.getpwuid(0)
    return f"user {user.pw_name} {grp.getgrgid(user.pw_gid).gr_name};"


NGINX = Proxy("nginx", _find, _command)
