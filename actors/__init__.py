"""What a user writes: actors, steps, retries, effects and waits."""
