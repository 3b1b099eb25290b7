"""Providers of `state.*`."""
