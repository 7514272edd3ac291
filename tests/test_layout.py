"""The layout holds: layers point one way, and only everstep.* is imported."""
