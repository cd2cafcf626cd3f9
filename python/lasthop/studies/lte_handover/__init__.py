"""Handover between LTE cells and a sudden load: see README.md in this folder."""
