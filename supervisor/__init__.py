"""Who keeps tasks alive: specifications, strategies, the tree and pools."""
