"""Reasons: what is said of a module that the operator does not want."""

DISABLED = "disabled in the composition"
"""The reason of a module that the operator disabled; the others are disabled for a reason of their own."""

SWITCHED_OFF = "is disabled"
"""What is said of a module that the operator disabled since."""
