"""Names: what the parts of the mesh that are no modules are called in logs."""

ROUTER_LOG = "wuu.router"
"""The name under which the router's own log is kept."""

BRIDGE = "wuu.bridge"
"""The name under which the bridge is logged. It is a host of instances, not a module."""
