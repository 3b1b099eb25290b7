"""First-party providers. Each is a process of its own, and each could be deleted."""
