"""The page that shows runs: `lasthop view` serves it on this machine, a report of a run carries its data in it.

The page is built from the sources in the folder `viewer` of the repository and committed as `page.html`.
"""

from lasthop.viewer._embed import standalone
from lasthop.viewer._server import Viewer

__all__ = ["Viewer", "standalone"]
