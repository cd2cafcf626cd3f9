"""TCP Vegas and Reno over UMTS: see README.md in this folder."""
