"""Reproductions of published studies; each is a folder that `lasthop.harness` runs."""
