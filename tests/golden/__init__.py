"""Protection against changes of results (`make golden-check`).

The hash of every table of a fixed choice of runs.
"""
