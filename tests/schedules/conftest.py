from tests.runtime.conftest import gate, place

__all__ = ["gate", "place"]
