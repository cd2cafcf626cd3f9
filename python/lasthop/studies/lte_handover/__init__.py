"""Handover between LTE cells and sudden load, as TCP feels them (AllThingsCellular 2014)."""
