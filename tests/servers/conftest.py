from tests.runtime.conftest import place

__all__ = ["place"]
