"""The decision to let one call through, and the signed context that the provider gets."""
