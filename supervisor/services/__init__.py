"""Supervision of services with OTP's semantics; no store is involved."""
