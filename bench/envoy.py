"""Envoy as a gRPC proxy between two Unix sockets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.proxy import Proxy

_EXTENSIONS = "type.googleapis.com/envoy.extensions"
_NO_LIMIT = 1_000_000_000
_HTTP2 = {
    "max_concurrent_streams": 1024,
    # What is in flight is never held back by a window: 4 MiB fit many times.
    "initial_stream_window_size": 64 * 2**20,
    "initial_connection_window_size": 256 * 2**20,
}
_BUFFER = 64 * 2**20
"""Bytes that are held of one connection before its sender is asked to wait."""


def configuration(at: str, provider: str) -> Any:
    """What Envoy is told: one listener, one route, one cluster, and nothing that observes."""
    return {
        # Counters are not kept either, so that only the passing on is measured.
        "stats_config": {"stats_matcher": {"reject_all": True}},
        "static_resources": {
            "listeners": [
                {
                    "name": "listener",
                    "address": _pipe(at),
                    "per_connection_buffer_limit_bytes": _BUFFER,
                    "filter_chains": [{"filters": [{"name": "http", "typed_config": _connection_manager()}]}],
                }
            ],
            "clusters": [_cluster(provider)],
        },
    }


def _connection_manager() -> Any:
    router = f"{_EXTENSIONS}.filters.http.router.v3.Router"
    return {
        "@type": (f"{_EXTENSIONS}.filters.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "http",
        "codec_type": "HTTP2",
        "http2_protocol_options": _HTTP2,
        "max_request_headers_kb": 256,
        "generate_request_id": False,
        "stream_idle_timeout": "0s",
        "route_config": {
            "virtual_hosts": [
                {
                    "name": "all",
                    "domains": ["*"],
                    # Without this a call would end after fifteen seconds.
                    "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "provider", "timeout": "0s"}}],
                }
            ]
        },
        "http_filters": [{"name": "router", "typed_config": {"@type": router}}],
    }


def _cluster(provider: str) -> Any:
    return {
        "name": "provider",
        "type": "STATIC",
        "connect_timeout": "5s",
        "per_connection_buffer_limit_bytes": _BUFFER,
        "load_assignment": {
            "cluster_name": "provider",
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": _pipe(provider)}}]}],
        },
        "circuit_breakers": {
            "thresholds": [
                {
                    "max_connections": _NO_LIMIT,
                    "max_pending_requests": _NO_LIMIT,
                    "max_requests": _NO_LIMIT,
                    "max_retries": 0,
                }
            ]
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": f"{_EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": {"http2_protocol_options": _HTTP2},
            }
        },
    }


def _pipe(path: str) -> Any:
    return {"pipe": {"path": path, "mode": 0o600}}


def _find() -> str | None:
    # The extra `bench` puts it beside this Python.
    program = Path(sys.executable).with_name("envoy")
    return str(program) if program.exists() else None


def _command(program: str, home: Path, at: Path, provider: str) -> Sequence[str]:
    written = home / "envoy.json"
    written.write_bytes(msgspec.json.encode(configuration(str(at), provider)))
    # Hot restart shares memory under a number that another Envoy of this machine may have.
    lean = ("--concurrency", "1", "--disable-hot-restart", "--log-level", "error")
    return (program, "--config-path", str(written), *lean)


ENVOY = Proxy("envoy", _find, _command)
