"""What a test of a durable task needs."""
