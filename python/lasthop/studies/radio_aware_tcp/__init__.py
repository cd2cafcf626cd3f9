"""The study `radio-aware-tcp`."""
