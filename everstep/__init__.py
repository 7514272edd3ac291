"""Durable tasks: actors whose state is checkpointed after each step."""
