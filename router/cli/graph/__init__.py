"""`wuu-mesh graph`, and the picture that `explain` reads."""
