"""Limits that the operator and the author of a package have in common."""

MAX_TIMEOUT = 86_400.0
"""Seconds that a timeout may have: a day. gRPC takes very large ones for past, or waits for ever."""
