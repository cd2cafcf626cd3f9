from __future__ import annotations
def figures(evidence):
    return []
def tables(evidence):
    return []
