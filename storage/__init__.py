"""Where tasks last: the store and its implementations."""
