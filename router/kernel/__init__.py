"""The services of the kernel: what the router itself answers to instances."""
