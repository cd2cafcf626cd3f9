"""Scenarios whose TCP is that of a real Linux kernel, in virtual time: User-mode Linux."""

from lasthop.linux._boot import boot
from lasthop.linux._build import Kernel, build, find
from lasthop.linux._edits import CONTROLS
from lasthop.linux._run import at, run

__all__ = ["CONTROLS", "Kernel", "at", "boot", "build", "find", "run"]
