"""Lasthop: a deterministic simulator of transport protocols over the radio last hop.

    import lasthop as lh

    r = lh.Scenario.load("umts.toml").run()
    print(r.flows.to_pylist())
    r.plot.cwnd().savefig("cwnd.pdf")

The same scenario, seed and version give the same bytes, with any number of workers.
"""

TYPE_CHECKING = False  # the command takes over signals after this module: it imports nothing but builtins
if TYPE_CHECKING:
    from typing import Any

    from lasthop._core import (
        AckSample,
        Candidate,
        Congestion,
        CongestionControl,
        Established,
        FolderInUseError,
        Hint,
        LasthopError,
        MediaOutcome,
        MediaReport,
        MediaStart,
        RateControl,
        Scheduler,
        SentMedia,
        __version__,
    )
    from lasthop._results import Results
    from lasthop._scenario import Scenario, run_many
    from lasthop._simulation import Simulation
    from lasthop.campaign.definition import Campaign
    from lasthop.judging.judgement import judge

__all__ = [
    "AckSample",
    "Campaign",
    "Candidate",
    "Congestion",
    "CongestionControl",
    "Established",
    "FolderInUseError",
    "Hint",
    "LasthopError",
    "MediaOutcome",
    "MediaReport",
    "MediaStart",
    "RateControl",
    "Results",
    "Scenario",
    "Scheduler",
    "SentMedia",
    "Simulation",
    "__version__",
    "judge",
    "run_many",
]

#: Names that are not the extension module's, by the module that has them.
_MODULES = {
    "Campaign": "lasthop.campaign.definition",
    "Results": "lasthop._results",
    "Scenario": "lasthop._scenario",
    "Simulation": "lasthop._simulation",
    "judge": "lasthop.judging.judgement",
    "run_many": "lasthop._scenario",
}


def __getattr__(name: str) -> "Any":
    """Imports a name at its first use."""
    if name not in __all__:
        raise AttributeError(f"module 'lasthop' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(_MODULES.get(name, "lasthop._core")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
