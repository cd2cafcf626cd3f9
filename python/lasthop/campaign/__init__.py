"""Campaigns: sweeps of scenarios, their number of replications, comparisons of variants."""
