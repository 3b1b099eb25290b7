"""Benchmarks: the figures that the product promises, measured on this machine."""
