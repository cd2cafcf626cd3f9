"""What the last hop of a node can carry, as a capacity trace; how its replay differs."""

from lasthop.capacity._formats import FORMATS, content
from lasthop.capacity._recording import Recording, record
from lasthop.capacity._replay import Comparison, compare
from lasthop.capacity._scenes import Direction

__all__ = ["FORMATS", "Comparison", "Direction", "Recording", "compare", "content", "record"]
