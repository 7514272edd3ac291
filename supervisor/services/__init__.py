"""Trees of services and pools, supervised with OTP's semantics."""
