"""`wuu-mesh plugin`."""
