"""Runs the small LTE and Wi-Fi scenarios and draws one picture of each.

For guides/lte-cells.md and guides/wifi.md.

Sphinx calls `draw_all` when the site is built; `python docs/_ext/lte_gallery.py` does the same by
hand. A picture is drawn again only when the scenario, this file or the package's core has changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parent.parent.parent
SCENARIOS = ROOT / "python" / "lasthop" / "scenarios"
OUT = ROOT / "docs" / "reference" / "generated" / "lte"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def run(name: str, **keys: Any) -> Any:
    """Results of a bundled scenario with other values of some keys (`__` stands for a dot)."""
    import lasthop as lh

    overrides = {key.replace("__", "."): value for key, value in keys.items()}
    return lh.Scenario.load(SCENARIOS / f"{name}.toml").with_(overrides).run()


def download() -> Figure:
    """Throughput and round trip."""
    r = run("lte-download")
    fig, (left, right) = panels(2)
    curve(left, *rate(r, "download"), "download")
    curve(right, *column(r.tcp, "download", "rtt_us", 1e-3), "smoothed RTT")
    return labelled(fig, (left, "throughput [Mbit/s]"), (right, "round trip [ms]"))


def upload() -> Figure:
    """Throughput and round trip with HARQ and without."""
    fig, (left, right) = panels(2)
    for i, tries in enumerate((4, 1)):
        r = run("lte-upload", cell__enb__uplink__harq__transmissions=tries)
        label = "HARQ, 4 transmissions" if tries > 1 else "no HARQ"
        curve(left, *rate(r, "upload"), label, i)
        curve(right, *column(r.tcp, "upload", "rtt_us", 1e-3), label, i)
    return labelled(fig, (left, "throughput [Mbit/s]"), (right, "round trip [ms]"))


def two_way() -> Figure:
    """The download's round trip jumps when the upload begins."""
    fig, (left, right) = panels(2)
    for i, buffer in enumerate(("2 MiB", "100 kB")):
        r = run("lte-two-way", ue__phone__rlc__buffer__bytes=buffer)
        curve(left, *rate(r, "download"), f"buffers of {buffer}", i)
        curve(right, *column(r.tcp, "download", "rtt_us", 1e-3), buffer, i)
    left.axvline(5, color="#666666", lw=0.8, ls=":")
    labelled(fig, (left, "download [Mbit/s]"), (right, "round trip of the download [ms]"))
    left.legend(frameon=False, fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    right.get_legend().remove()
    return fig


def ack_delay() -> Figure:
    """Round trip against the period of scheduling requests."""
    fig, (ax,) = panels(1)
    periods = (1, 5, 10, 20, 40)
    for i, stealing in enumerate((True, False)):
        times = [
            run("lte-ack-delay", cell__enb__uplink__sr__period=f"{p} ms", cell__enb__uplink__stealing=stealing)
            .flows["rtt_mean_s"]
            .to_pylist()[0]
            for p in periods
        ]
        label = "data sent with the report" if stealing else "report alone"
        ax.plot(periods, [1e3 * t for t in times], "o-", color=COLOURS[i], label=label, ms=4)
    ax.legend(frameon=False, fontsize=8)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("period of scheduling requests [ms]", fontsize=8)
    ax.set_ylabel("mean round trip [ms]", fontsize=8)
    return fig


def bufferbloat() -> Figure:
    """Three buffers: the same rate, other delays."""
    r = run("lte-bufferbloat")
    fig, (left, right) = panels(2)
    for i, (flow, size) in enumerate((("small", "100 kB"), ("usual", "2 MB"), ("huge", "20 MB"))):
        curve(left, *rate(r, flow), size, i)
        curve(right, *column(r.tcp, flow, "rtt_us", 1e-3), size, i)
    return labelled(fig, (left, "throughput [Mbit/s]"), (right, "round trip [ms]"))


def um_am() -> Figure:
    """Acknowledged and unacknowledged mode, without and with HARQ."""
    fig, (left, right) = panels(2)
    for ax, tries in ((left, 1), (right, 4)):
        r = run("lte-um-am", cell__enb__downlink__harq__transmissions=tries)
        for i, flow in enumerate(("am", "um")):
            curve(ax, *rate(r, flow), f"RLC {flow.upper()}", i)
        ax.set_title("one transmission" if tries == 1 else "HARQ, four transmissions", fontsize=8)
    return labelled(fig, (left, "throughput [Mbit/s]"), (right, ""))


def schedulers() -> Figure:
    """Throughput of three phones under four policies."""
    names = ("round-robin", "proportional-fair", "fd-bet", "tdmt")
    phones = ("near", "middle", "far")
    fig, (ax,) = panels(1)
    for i, scheduler in enumerate(names):
        r = run("lte-schedulers", cell__enb__downlink__scheduler=scheduler)
        rates = dict(zip(r.flows["flow"].to_pylist(), r.flows["goodput_bps"].to_pylist(), strict=True))
        for k, phone in enumerate(phones):
            label = f"{phone}" if i == 0 else None
            ax.bar(i + 0.27 * (k - 1), rates[phone] / 1e6, 0.25, color=COLOURS[k], label=label)
    ax.set_xticks(range(len(names)), names)
    ax.set_ylabel("throughput [Mbit/s]", fontsize=8)
    ax.legend(frameon=False, fontsize=8)
    return fig


def fading() -> Figure:
    """SINR and MCS of a walking and of a driving phone."""
    fig, (left, right) = panels(2)
    for i, (profile, speed) in enumerate((("epa", "3 km/h"), ("eva", "60 km/h"))):
        r = run("lte-fading", radio__fading=profile, ue__phone__radio__speed=speed, output__interval="20 ms")
        rows = r.radio.to_pylist()
        rows = [x for x in rows if x["direction"] == "downlink" and x["time_s"] > 1 and x["sinr_db"] is not None]
        time = [x["time_s"] for x in rows]
        label = f"{profile.upper()}, {speed}"
        curve(left, time, [x["sinr_db"] for x in rows], label, i, lw=0.7)
        curve(right, time, [x["mcs"] if x["mcs"] is not None else np.nan for x in rows], label, i, lw=0.7)
    labelled(fig, (left, "effective SINR [dB]"), (right, "MCS"))
    left.set_ylim(auto=True)
    return fig


def qos() -> Figure:
    """Delay of the call."""
    ways: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("own bearer,\nQoS-aware", {}),
        ("own bearer,\nproportional fair", {"cell__enb__downlink__scheduler": "proportional-fair"}),
        ("default bearer", {"ue__phone__dedicated__voice__flows": []}),
    )
    fig, (ax,) = panels(1)
    for i, (_, keys) in enumerate(ways):
        flows = {f["flow"]: f for f in run("lte-qos", **keys).flows.to_pylist()}
        call = flows["call"]
        ax.bar(i, 1e3 * call["delay_mean_s"], 0.5, color=COLOURS[i])
        ax.plot([i], [1e3 * call["delay_max_s"]], "v", color="#333333")
        note = f"mean {1e3 * call['delay_mean_s']:.0f}"
        ax.annotate(note, (i, 1e3 * call["delay_max_s"]), (0, 6), textcoords="offset points", ha="center", fontsize=7)
    ax.margins(y=0.12)
    ax.set_ylim(bottom=0)
    ax.set_xticks(range(len(ways)), [label for label, _ in ways])
    ax.set_ylabel("one-way delay of the call [ms]\n(bar: mean, triangle: largest)", fontsize=8)
    return fig


def handover() -> Figure:
    """A download across a handover of either type."""
    fig, (left, right) = panels(2)
    for i, kind in enumerate(("lossless", "seamless")):
        r = run("lte-handover", ue__car__pdcp={"handover": kind, "retransmission": {"counts": "handed-over"}})
        curve(left, *rate(r, "download", 1.0), kind, i)
        curve(right, *column(r.tcp, "download", "rtt_us", 1e-3), kind, i)
    for event in r.events.to_pylist():
        if event["kind"] == "handover-start":
            for ax in (left, right):
                ax.axvline(event["time_s"], color="#666666", lw=0.8, ls=":")
    return labelled(fig, (left, "throughput [Mbit/s]"), (right, "round trip [ms]"))


def sidelink() -> Figure:
    """A transfer from phone to phone.

    What a mode switch costs, and the round trip of either way.
    """
    fig, (left, right) = panels(2)
    for i, lossless in enumerate((False, True)):
        r = run("sidelink", sidelink__pair__lossless=lossless)
        label = "the switch keeps what waits" if lossless else "the switch drops what waits"
        curve(left, *rate(r, "ftp"), label, i)
        curve(right, *column(r.tcp, "ftp", "rtt_us", 1e-3), label, i)
    for ax in (left, right):
        ax.axvline(5, color="#666666", lw=0.8, ls=":")
    labelled(fig, (left, "throughput [Mbit/s]"), (right, "round trip [ms]"))
    left.get_legend().remove()
    right.legend(frameon=False, fontsize=7, loc="lower right")
    for ax in (left, right):
        for x, text in ((2.5, "directly"), (7.5, "over the eNB")):
            ax.annotate(text, (x, 1.01), xycoords=("data", "axes fraction"), ha="center", fontsize=7, color="#666666")
    return fig


def multicast() -> Figure:
    """A call to a group.

    Share of packets at each receiver over its distance, and resource blocks.
    """
    fig, (left, right) = panels(2)
    for i, transmissions in enumerate((1, 2, 4)):
        r = run("sidelink-multicast", multicast__group__link__transmissions=transmissions)
        rows = r.table("positions").to_pylist()
        places = {p["ue"]: (p["x_m"], p["y_m"]) for p in rows if p["time_s"] == rows[0]["time_s"]}
        x, y = places["speaker"]
        flows = r.flows.to_pylist()
        away = [np.hypot(places[f["dst"]][0] - x, places[f["dst"]][1] - y) for f in flows]
        heard = [100 * f["rx_packets"] / f["tx_packets"] for f in flows]
        label = "once" if transmissions == 1 else f"{transmissions} times"
        left.plot(away, heard, "o", ms=3.5, color=COLOURS[i], label=f"sent {label}")
        blocks = sum(b["resource_blocks"] for b in r.table("radio").to_pylist() if b["direction"] == "sidelink")
        right.bar(i, blocks / 20, width=0.6, color=COLOURS[i])
    left.legend(frameon=False, fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, columnspacing=1)
    left.set_xlabel("distance from the speaker [m]", fontsize=8)
    left.set_ylabel("packets received [%]", fontsize=8)
    right.set_xticks(range(3), ["sent once", "2 times", "4 times"])
    right.set_ylabel("resource blocks a second", fontsize=8)
    return fig


def drive() -> Figure:
    """The car's path, the serving cell, and the RSRP of the cells."""
    r = run("lte-drive")
    places, measured = r.table("positions").to_pylist(), r.table("measurements").to_pylist()
    used = list(dict.fromkeys(p["cell"] for p in places))
    colours = {cell: COLOURS[i % len(COLOURS)] for i, cell in enumerate(used)}
    fig, (left, right) = panels(2)
    for cell in used:
        mine = [p for p in places if p["cell"] == cell]
        left.plot([p["x_m"] for p in mine], [p["y_m"] for p in mine], ".", ms=3, color=colours[cell], label=cell)
        power = [m for m in measured if m["cell"] == cell]
        right.plot([m["time_s"] for m in power], [m["rsrp_dbm"] for m in power], lw=0.7, color=colours[cell])
        while power:
            served = next((i for i, m in enumerate(power) if m["serving"]), len(power))
            power = power[served:]
            end = next((i for i, m in enumerate(power) if not m["serving"]), len(power))
            right.plot(
                [m["time_s"] for m in power[:end]], [m["rsrp_dbm"] for m in power[:end]], lw=2.2, color=colours[cell]
            )
            power = power[end:]
    corners = [(500 * np.cos(np.pi / 3 * k), 500 * np.sin(np.pi / 3 * k)) for k in range(6)]
    left.plot(*np.array([(0.0, 0.0), *corners]).T, "^", color="#333333", ms=5, label="site")
    left.set_aspect("equal")
    left.legend(frameon=False, fontsize=6, ncols=2, loc="lower right")
    left.set_xlabel("east [m]", fontsize=8)
    left.set_ylabel("north [m]", fontsize=8)
    right.set_xlabel("time [s]", fontsize=8)
    right.set_ylabel("RSRP [dBm]", fontsize=8)
    return fig


def radio_aware() -> Figure:
    """A download with and without hints, and what shares its queue."""
    ways: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("CUBIC", {"flow__down__tcp__cc": "cubic"}),
        ("hints,\nceiling", {"flow__down__tcp__cc": "guided"}),
        ("hints,\nwindow", {}),
        ("ABC", {"flow__down__tcp__cc": "abc", "ue__phone__rlc__buffer__aqm": {"kind": "abc"}}),
    )
    fig, axes = panels(3)
    for i, (_, keys) in enumerate(ways):
        r = run("lte-radio-aware", **keys)
        flows = {f["flow"]: f for f in r.flows.to_pylist()}
        apps = {a["flow"]: a for a in r.table("applications").to_pylist()}
        values = (flows["down"]["goodput_bps"] / 1e6, 1e3 * flows["down"]["delay_p95_s"], apps["pages"]["time_mean_s"])
        for ax, value in zip(axes, values, strict=True):
            ax.bar(i, value, 0.6, color=COLOURS[i])
    names = ("download [Mbit/s]", "95 % point of its delay [ms]", "web page [s]")
    for ax, name in zip(axes, names, strict=True):
        ax.set_xticks(range(len(ways)), [label for label, _ in ways], fontsize=6)
        ax.set_ylabel(name, fontsize=8)
    return fig


def reuse() -> Figure:
    """SINR and throughput of every phone under three ways to share the carrier."""
    cqi, third = {"interference": "data"}, {"first": 0, "count": 15}
    ways: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("every block everywhere", {"cell__macro__downlink": {"cqi": cqi}}),
        ("soft reuse", {}),
        ("hard reuse, a third each", {"cell__macro__downlink": {"cqi": cqi, "blocks": third}}),
    )
    fig, (left, right) = panels(2)
    for i, (label, keys) in enumerate(ways):
        r = run("lte-reuse", **keys)
        rates = np.sort([f["goodput_bps"] / 1e6 for f in r.flows.to_pylist()])
        share = 100 * (np.arange(len(rates)) + 1) / len(rates)
        sinr: dict[str, list[float]] = {}
        for row in r.radio.to_pylist():
            if row["direction"] == "downlink" and row["time_s"] > 1 and row["sinr_db"] is not None:
                sinr.setdefault(row["ue"], []).append(row["sinr_db"])
        means = np.sort([np.mean(values) for values in sinr.values()])
        curve(left, means, 100 * (np.arange(len(means)) + 1) / len(means), label, i)
        curve(right, rates, share, label, i)
    left.set_xlabel("effective SINR [dB]", fontsize=8)
    right.set_xlabel("throughput [Mbit/s]", fontsize=8)
    right.set_xscale("log")
    for ax in (left, right):
        ax.set_ylabel("phones below [%]", fontsize=8)
        ax.set_ylim(0, 100)
    right.legend(frameon=False, fontsize=7)
    return fig


def slow_station() -> Figure:
    """What each station gets, and how long a call waits, by the queues of the access point."""
    fq: dict[str, Any] = {"kind": "fq-codel"}
    ways: Sequence[tuple[str, Mapping[str, Any]]] = (
        ("one FIFO", {"kind": "fifo"}),
        ("FQ-CoDel,\nin turns", {**fq, "airtime_fairness": False}),
        ("FQ-CoDel,\nfair airtime", fq),
        ("the same, driver\nwithout AQL", {**fq, "driver": {"aql": False}}),
        ("driver\nwith AQL", {**fq, "driver": {"aql": True}}),
    )
    flows = ("fast-1", "fast-2", "slow")
    fig, (left, right) = panels(2)
    for i, (_, buffer) in enumerate(ways):
        found = {f["flow"]: f for f in run("wifi-slow-station", ap__home__buffer=buffer).flows.to_pylist()}
        for k, flow in enumerate(flows):
            label = flow.replace("-", " station ") if i == 0 else None
            left.bar(i + 0.27 * (k - 1), found[flow]["goodput_bps"] / 1e6, 0.25, color=COLOURS[k], label=label)
        delay = 1e3 * found["call"]["delay_mean_s"]
        right.bar(i, delay, 0.5, color=COLOURS[3])
        right.annotate(f"{delay:.0f}", (i, delay), ha="center", va="bottom", fontsize=7)
    for ax, name in ((left, "throughput [Mbit/s]"), (right, "one-way delay of the call [ms]")):
        ax.set_xticks(range(len(ways)), [label for label, _ in ways], fontsize=5.5)
        ax.set_ylabel(name, fontsize=8)
    left.legend(frameon=False, fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    right.axhline(20, color="#666666", lw=0.8, ls=":")
    right.set_ylim(top=1.12 * right.get_ylim()[1])
    return fig


def beside_lte() -> Figure:
    """Each station's throughput against its SNR.

    And throughput and delay of all with several congestion controls.
    """
    networks = (("laptop", "802.11ac"), ("phone", "LTE"))
    controls = (("reno", "NewReno"), ("cubic", "CUBIC"), ("bbr", "BBR"), ("bbr3", "BBRv3"))
    fig, (left, middle, right) = panels(3)
    places: list[float] = []
    for i, (to, name) in enumerate(networks):
        for k, (cc, _) in enumerate(controls):
            r = run("wifi-beside-lte", flow__down__to=to, flow__down__tcp__cc=cc)
            flows = r.flows.to_pylist()
            goodput = [f["goodput_bps"] / 1e6 for f in flows]
            label = name if k == 0 else None
            middle.bar(k + 0.4 * (i - 0.5), sum(goodput), 0.36, color=COLOURS[i], label=label)
            delay = 1e3 * sum(f["delay_mean_s"] for f in flows) / len(flows)
            right.bar(k + 0.4 * (i - 0.5), delay, 0.36, color=COLOURS[i])
            if cc == "cubic":
                if to == "laptop":  # the phones stand at the same places, in the same order
                    snr = {x["station"]: x["snr_db"] for x in r.table("wifi").to_pylist()}
                    places = [snr[f["dst"]] for f in flows]
                left.plot(places, goodput, "os"[i], color=COLOURS[i], ms=4, fillstyle="none", label=name)
    left.set_xlabel("SNR of the station's Wi-Fi [dB]", fontsize=8)
    left.set_ylabel("station's throughput, CUBIC [Mbit/s]", fontsize=8)
    for ax, name in ((middle, "sum of eight stations [Mbit/s]"), (right, "one-way delay [ms]")):
        ax.set_xticks(range(len(controls)), [label for _, label in controls], fontsize=6)
        ax.set_ylabel(name, fontsize=8)
    right.set_yscale("log")
    left.set_ylim(bottom=0)
    left.legend(frameon=False, fontsize=7)
    return fig


PICTURES: dict[str, Callable[[], Figure]] = {
    "lte-download": download,
    "lte-upload": upload,
    "lte-two-way": two_way,
    "lte-ack-delay": ack_delay,
    "lte-bufferbloat": bufferbloat,
    "lte-um-am": um_am,
    "lte-schedulers": schedulers,
    "lte-fading": fading,
    "lte-qos": qos,
    "lte-handover": handover,
    "lte-drive": drive,
    "sidelink": sidelink,
    "sidelink-multicast": multicast,
    "lte-radio-aware": radio_aware,
    "lte-reuse": reuse,
    "wifi-slow-station": slow_station,
    "wifi-beside-lte": beside_lte,
}


def draw_all() -> None:
    """Every picture that is not fresh."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        stamp, path = OUT / f"{name}.stamp", OUT / f"{name}.svg"
        key = fingerprint(name)
        if path.exists() and stamp.exists() and stamp.read_text() == key:
            continue
        save(draw(), path)
        stamp.write_text(key)


def fingerprint(name: str) -> str:
    """What a picture is made of."""
    import lasthop._core as core

    parts = [Path(__file__), SCENARIOS / f"{name}.toml", Path(str(core.__file__))]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.read_bytes())
    return digest.hexdigest()


def save(fig: Figure, path: Path) -> None:
    """The same bytes each time."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "lasthop"}):
        fig.savefig(path, metadata={"Date": None})


def panels(n: int) -> tuple[Figure, Sequence[Any]]:
    """Axes side by side."""
    fig = Figure(figsize=(7.2 if n > 1 else 5.0, 2.6), layout="constrained")
    axes = [fig.add_subplot(1, n, i + 1) for i in range(n)]
    for ax in axes:
        ax.grid(True, color="#e3e3e3", lw=0.5)
        ax.set_axisbelow(True)
        ax.tick_params(labelsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    return fig, axes


def labelled(fig: Figure, *axes: tuple[Any, str]) -> Figure:
    """Time below, a quantity beside, names of curves where there are several."""
    for ax, label in axes:
        ax.set_xlabel("time [s]", fontsize=8)
        ax.set_ylabel(label, fontsize=8)
        ax.set_ylim(bottom=0)
        if len(ax.get_legend_handles_labels()[1]) > 1:
            ax.legend(frameon=False, fontsize=7)
    return fig


def curve(ax: Any, x: Any, y: Any, label: str, index: int = 0, lw: float = 1.0) -> None:
    """A line."""
    ax.plot(x, y, color=COLOURS[index], lw=lw, label=label)


def column(table: Any, flow: str, name: str, scale: float) -> tuple[Any, Any]:
    """A column of the `tcp` table for one flow."""
    rows = [
        (r["time_s"], r[name] * scale) for r in table.select(["time_s", "flow", name]).to_pylist() if r["flow"] == flow
    ]
    x, y = np.array(rows).T
    return x, y


def rate(r: Any, flow: str, step: float = 0.2) -> tuple[Any, Any]:
    """Payload that arrives at the receiver [Mbit/s], in intervals of `step` seconds.

    Acknowledged octets stand still while an octet is missing, and then jump by all that has arrived
    since.
    """
    x, y = column(r.tcp, flow, "bytes_arrived", 8e-6)
    edges = np.arange(0, x[-1] + step / 2, step)
    at = np.interp(edges, x, y)
    return edges[1:], np.diff(at) / step


if __name__ == "__main__":
    draw_all()
