"""What every provider of `state.documents@1` has in common; an engine stands behind the `Store` protocol."""
