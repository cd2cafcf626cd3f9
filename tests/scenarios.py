"""Small scenarios that several tests share."""

WIRED = """
[scenario]
name = "wired"
duration = "5 s"
seed = 1

[link.path]
between = ["server", "client"]
rate = "5 Mbit/s"
delay = "20 ms"
loss = "1 %"
queue = { kind = "droptail", packets = 40 }

[flow.ftp]
from = "server"
to = "client"
app = "bulk"

[output]
tcp = "ack"
packets = true
"""

UMTS = """
[scenario]
name = "umts"
duration = "5 s"
seed = 1

[link.wired]
between = ["server", "rnc"]
rate = "10 Mbit/s"
delay = "28 ms"

[bearer.dch]
kind = "umts"
between = ["rnc", "ue"]
[bearer.dch.downlink]
bler = "10 %"
[bearer.dch.uplink]
bler = "10 %"

[flow.ftp]
from = "server"
to = "ue"
app = "bulk"

[[at]]
t = "3 s"
set = { "bearer.dch.downlink.bler" = "20 %" }

[output]
tcp = "ack"
packets = true
"""
