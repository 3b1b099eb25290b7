"""`wuu.state.sqlite`: documents in one SQLite database."""
