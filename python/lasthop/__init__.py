"""Lasthop: a deterministic simulator of transport protocols over the radio last hop.

    import lasthop as lh

    r = lh.Scenario.load("umts.toml").run()
    print(r.flows.to_pandas())
    r.plot.cwnd().savefig("cwnd.pdf")

Same scenario, same seed, same version: the same bytes, on any machine, with any number of workers.
"""

from lasthop._core import (
    AckSample,
    Candidate,
    Congestion,
    CongestionControl,
    Established,
    Hint,
    LasthopError,
    Scheduler,
    __version__,
)
from lasthop._results import Results
from lasthop._scenario import Scenario, run_many
from lasthop._simulation import Simulation

__all__ = [
    "AckSample",
    "Candidate",
    "Congestion",
    "CongestionControl",
    "Established",
    "Hint",
    "LasthopError",
    "Results",
    "Scenario",
    "Scheduler",
    "Simulation",
    "__version__",
    "run_many",
]
