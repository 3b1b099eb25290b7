"""`wuu.state.jsonl`: documents in one append-only file, a JSON line per transaction."""
