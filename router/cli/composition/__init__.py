"""`wuu-mesh composition`, and the composition that other commands name."""
