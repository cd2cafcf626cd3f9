"""The page that shows runs.

`lasthop view` serves it on this machine; in the report of a run it contains the data too.

The page is built from the sources in the folder `viewer` of the repository and committed as
`page.html`.
"""

from lasthop.viewer._campaign import campaign_entry
from lasthop.viewer._embed import standalone, standalone_campaign
from lasthop.viewer._server import Viewer

__all__ = ["Viewer", "campaign_entry", "standalone", "standalone_campaign"]
