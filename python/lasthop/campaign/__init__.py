"""Campaigns: sweeps of scenarios, how many replications they need, and comparisons of their variants."""
