"""Moves the bytes of one admitted call."""
