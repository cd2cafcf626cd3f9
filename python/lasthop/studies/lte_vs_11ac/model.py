"""The study's vocabulary: variants, networks, packet sizes, metrics.

Also which of them exist today.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The paper's eleven variants in its order, with the figure of each and the name of its group.
VARIANTS: dict[str, tuple[str, str, str]] = {
    "bic": ("Bic", "2", "loss-based"),
    "hybla": ("Hybla", "3", "loss-based"),
    "newreno": ("NewReno", "4", "loss-based"),
    "highspeed": ("HighSpeed", "5", "loss-based"),
    "htcp": ("H-TCP", "6", "loss-based"),
    "scalable": ("Scalable", "7", "loss-based"),
    "vegas": ("Vegas", "10", "delay-based"),
    "veno": ("Veno", "11", "delay-based"),
    "westwood": ("Westwood", "12", "delay-based"),
    "illinois": ("Illinois", "15", "loss-delay-based"),
    "yeah": ("YeAH", "16", "loss-delay-based"),
}
#: Beyond the paper: what runs today, with a name and a colour, and NewReno to compare with.
TODAY: dict[str, tuple[str, str]] = {
    "newreno": ("NewReno", "#000000"),
    "cubic": ("CUBIC", "#0072b2"),
    "bbr": ("BBR", "#d55e00"),
    "bbr3": ("BBRv3", "#cc79a7"),
    "linux": ("Linux 6 (CUBIC, RACK)", "#009e73"),
}
GROUPS = ("loss-based", "delay-based", "loss-delay-based")

#: Networks by the letter that claims use, with the label of the axis `network` and a reader's name.
NETWORKS: dict[str, tuple[str, str]] = {
    "A": ("lte-am", "LTE AM"),
    "U": ("lte-um", "LTE UM"),
    "X": ("11ac", "802.11ac"),
}
LTE = ("A", "U")
#: What a claim about a network says when there are no runs of it.
MISSING = {"X": "needs 802.11ac, which was not run"}
#: Technologies by the beginning of their labels on the axis `network`, with a reader's name.
TECHNOLOGIES = {"lte": "LTE", "11ac": "802.11ac"}

#: Packet sizes by the letter that claims use, with the label of the axis `size`.
SIZES = {"s": 1000, "l": 3000}


@dataclass(frozen=True)
class Metric:
    """A quantity of a run: its name, its reduced value, and how equal "equal" is."""

    name: str
    value: str
    unit: str
    equal_percent: float
    more_is_better: bool


#: Equality: 5 % for throughput, 15 % for the others.
METRICS = {
    "thr": Metric("throughput", "goodput_mbps", "Mbit/s", 5.0, True),
    "loss": Metric("loss", "loss_undelivered", "", 15.0, False),
    "dly": Metric("delay", "delay_ms", "ms", 15.0, False),
    "jit": Metric("jitter", "jitter_ms", "ms", 15.0, False),
    "dip": Metric("lowest throughput of the first 5 s, as a share of the later mean", "start_dip", "", 15.0, False),
}
FOUR = ("thr", "loss", "dly", "jit")

#: The ways to count loss: the reduced value, and what it counts.
LOSSES = {
    "undelivered": ("loss_undelivered", "sent and not received when the run ends, over sent: the flow monitor's"),
    "dropped": ("loss_dropped", "packets dropped for a named cause, whole or a fragment of them, over sent"),
    "retransmitted": ("loss_retransmitted", "segments that TCP sent again, over packets sent"),
}

#: Words such as "about twice" as bands of a ratio.
FACTORS = {2.0: (1.5, 2.7), 3.0: (2.0, 4.0), 0.5: (0.35, 0.65)}


def variants_of(group: str) -> list[str]:
    """The variants of one of the paper's groups; `all` is every one."""
    return [cc for cc, (_, _, g) in VARIANTS.items() if group in ("all", g)]
