"""Processes: the guardian, and the start, watch and stop of each instance."""
