"""Composition: documents + declarations → graph. Pure: no process, no socket, no clock.

A command that needs a word of it loads no more than that word.
"""
