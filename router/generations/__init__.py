"""A graph with the instances that serve it, published as a whole."""
