"""Other durable runtimes on the same work, each in an environment of its own: `make bench-peers`.

The modules `on_*` run there, where everstep and the checkers' environment are not: they import
nothing of everstep, and what they import of a peer is `Any` to the checkers.
"""
