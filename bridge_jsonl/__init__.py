"""The bridge: plugin processes that speak JSON lines ⇄ instances of the mesh.

One process hosts many plugins. Each is an instance with its own token, key, socket and incarnation; what
breaks one of them breaks no other. The router's guardian spawns the plugins and hands their pipes over, so
the bridge neither spawns nor ends anything.
"""
