"""The command `lasthop`."""

from lasthop.cli._main import main

__all__ = ["main"]
