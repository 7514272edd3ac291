"""The commands of `python -m everstep`, for the operator of a store."""

from .main import main

__all__ = ["main"]
