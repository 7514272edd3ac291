"""Measures everstep beside SQLite itself: `make bench`. Nothing is asserted about time."""
