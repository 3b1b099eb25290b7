"""The agreement between the router, the kit and every provider, in code."""
