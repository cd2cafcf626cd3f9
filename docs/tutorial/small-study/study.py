"""How runs become numbers, claims verdicts, data figures."""

import lasthop.harness as harness
from lasthop.harness.judge import all_of, at_least

PAYLOAD = 1460 / 1500  # of a packet of 1500 bytes


def goodput(run):
    """Reduces a run: the share of the link that the application got."""
    return {"share": run.row("flows")["goodput_bps"] / (10e6 * PAYLOAD)}


def fills(claim, data):
    """F1: the share at one bandwidth-delay product."""
    share = data.estimate("fill", "share", packets=33)
    return all_of([at_least("share", share, claim.settings["low"])])


def figures(_evidence):
    """No figure."""
    return []


def tables(evidence):
    """Goodput for each length of the queue."""
    data = evidence.of(evidence.main_set)
    rows = tuple((p, data.estimate("fill", "share", packets=p).text()) for p in data.labels("fill", "packets"))
    return [harness.TableView("fill", "Share of the link", ("queue [packets]", "share"), rows)]
