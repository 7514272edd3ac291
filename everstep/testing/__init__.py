"""What a test of a durable task needs."""

from .manual_clock import ManualClock

__all__ = ["ManualClock"]
