"""Figures: labels with units, sizes, the same bytes twice, no global state.

And selections, thinning.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import lasthop as lh
from lasthop import LasthopError, Results
from lasthop.plot import OKABE_ITO, _thin
from lasthop.plot._plots import _stretches
from lasthop.plot._style import Figure as HouseFigure
from tests.synthetic import MadeUp

KINDS = ["cwnd", "rtt", "throughput", "sequence", "queue"]
LABELS = {
    "cwnd": "Congestion window (segments)",
    "rtt": "Round-trip time (ms)",
    "throughput": "Throughput (kbit/s)",
    "sequence": "Sequence number (kB)",
    "queue": "Queue (packets)",
}


def draw(results: Results, kind: str) -> Figure:
    arguments = {"flow": "ftp"} if kind == "sequence" else {}
    figure: Figure = getattr(results.plot, kind)(**arguments)
    return figure


def axes_of(figure: Figure) -> Axes:
    (axes,) = figure.axes
    return axes


def legend_of(figure: Figure) -> list[str]:
    legend = axes_of(figure).get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize("kind", KINDS)
def test_axes_are_labelled_with_units_and_fit_a_column(made_up: Results, kind: str) -> None:
    figure = draw(made_up, kind)
    assert figure.get_size_inches()[0] == 3.5
    assert axes_of(figure).get_xlabel() == "Time (s)"
    assert axes_of(figure).get_ylabel() == LABELS[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["svg", "pdf"])
def test_saving_twice_gives_the_same_bytes(made_up: Results, kind: str, suffix: str, tmp_path: Path) -> None:
    one, two = tmp_path / f"one.{suffix}", tmp_path / f"two.{suffix}"
    draw(made_up, kind).savefig(one)
    draw(made_up, kind).savefig(two)
    assert one.read_bytes() == two.read_bytes()
    assert one.stat().st_size > 2000


def test_figures_are_written_in_each_format_of_matplotlib(made_up: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of raster images it takes no metadata.

    `pgf` needs TeX: without that there is an error in words.
    """
    figure = draw(made_up, "cwnd")
    assert isinstance(figure, HouseFigure)
    begins = {"gif": b"GIF8", "jpg": b"\xff\xd8", "tiff": b"II*", "webp": b"RIFF", "png": b"\x89PNG", "pdf": b"%PDF"}
    known = set(figure.canvas.get_supported_filetypes())
    assert set(begins) <= known
    for form in sorted(known - {"pgf"}):
        assert figure.content(form).startswith(begins.get(form, b"")), form
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LasthopError, match="cannot be written as 'pgf'"):
        figure.content("pgf")


def test_drawing_leaves_no_trace_in_global_state(made_up: Results) -> None:
    before = dict(rcParams)
    draw(made_up, "cwnd")._repr_png_()  # type: ignore[attr-defined]
    assert dict(rcParams) == before
    assert "matplotlib.pyplot" not in sys.modules or not sys.modules["matplotlib.pyplot"].get_fignums()


def test_a_flow_is_chosen_by_name_and_by_pattern(made_up: Results) -> None:
    assert len(axes_of(made_up.plot.cwnd()).lines) == 2
    assert len(axes_of(made_up.plot.cwnd("ft*")).lines) == 1
    assert len(axes_of(made_up.plot.cwnd(["ftp", "web"])).lines) == 2
    with pytest.raises(LasthopError, match=r"no samples of flow 'smtp'.*ftp, web"):
        made_up.plot.cwnd("smtp")


def test_a_legend_appears_only_when_there_is_something_to_tell_apart(made_up: Results) -> None:
    assert legend_of(made_up.plot.cwnd("ftp")) == []
    assert legend_of(made_up.plot.cwnd()) == ["ftp", "web"]
    assert legend_of(made_up.plot.rtt("ftp")) == ["sample", "smoothed"]
    assert legend_of(made_up.plot.cwnd("ftp", ssthresh=True)) == ["ftp", "ftp ssthresh"]


def with_samples(number: int) -> Results:
    """One flow with so many samples of the round-trip time, evenly spread over time and values."""
    made_up = MadeUp()
    tcp = made_up.table("tcp").to_pydict()
    rows = {name: [values[0]] * number for name, values in tcp.items()}
    rows["flow"] = ["ftp"] * number
    rows["time_s"] = np.linspace(0, 100, number).tolist()
    rows["rtt_sample_us"] = [100_000 + 977 * i % 400_000 for i in range(number)]
    made_up._tables["tcp"] = pa.table(rows)
    return Results(made_up)


@pytest.mark.parametrize("number", [100, 10_000, 100_000])
def test_a_sample_of_the_round_trip_time_can_be_seen(number: int) -> None:
    """A dot of 1.2 pt is 5 pixels wide at 300 dpi, so its middle has its full colour."""
    figure = with_samples(number).plot.rtt("ftp")
    dots, smoothed = axes_of(figure).lines
    assert dots.get_marker() == "."
    assert dots.get_markersize() / 2 >= 1.2  # matplotlib draws "." with half of its size
    assert dots.get_alpha() == 1
    assert smoothed.get_color() != dots.get_color()


def test_few_samples_are_drawn_larger_than_many() -> None:
    sizes = [axes_of(with_samples(n).plot.rtt("ftp")).lines[0].get_markersize() for n in (100, 500, 10_000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] >= 2 * sizes[2]


def test_samples_that_were_not_recorded_are_an_error_only_when_they_are_asked_for() -> None:
    made_up = MadeUp()
    tcp = made_up.table("tcp")
    column = tcp.column_names.index("rtt_sample_us")
    none = pa.nulls(len(tcp), tcp.schema.field(column).type)
    made_up._tables["tcp"] = tcp.set_column(column, "rtt_sample_us", none)
    results = Results(made_up)
    assert legend_of(results.plot.rtt("ftp")) == []
    with pytest.raises(LasthopError, match=r"(?s)no samples of the round-trip time.*output\.tcp"):
        results.plot.rtt("ftp", samples=True)


def test_timeouts_are_marked() -> None:
    made_up = MadeUp()
    tcp = made_up.table("tcp").to_pydict()
    tcp["trigger"][50] = "rto"
    made_up._tables["tcp"] = pa.table(tcp)
    figure = Results(made_up).plot.cwnd("ftp")
    assert legend_of(figure) == ["ftp", "timeout"]
    assert np.asarray(axes_of(figure).lines[1].get_xdata()).tolist() == [tcp["time_s"][50]]


def test_colours_are_those_of_okabe_and_ito(made_up: Results) -> None:
    assert [line.get_color() for line in axes_of(made_up.plot.cwnd()).lines] == list(OKABE_ITO[:2])


def test_a_time_range_limits_the_axis_and_the_data(made_up: Results) -> None:
    axes = axes_of(made_up.plot.cwnd("ftp", t=(10, 20)))
    assert axes.get_xlim() == (10, 20)
    x = np.asarray(axes.lines[0].get_xdata())
    assert x.min() >= 10
    assert x.max() <= 20


def test_a_flow_has_one_colour_in_all_figures(made_up: Results) -> None:
    web = [axes_of(draw("web")).lines[-1].get_color() for draw in (made_up.plot.cwnd, made_up.plot.throughput)]
    assert web == [OKABE_ITO[1]] * 2
    assert axes_of(made_up.plot.rtt(["web", "ftp"])).lines[-1].get_color() == OKABE_ITO[1]
    assert axes_of(made_up.plot.throughput("voice")).lines[0].get_color() == OKABE_ITO[2]


def test_throughput_of_a_lossy_link_is_never_above_its_rate() -> None:
    text = (
        "[scenario]\nname = 'lossy'\nduration = '20 s'\n"
        "[link.l]\nbetween = ['a', 'b']\nrate = '20 Mbit/s'\ndelay = '50 ms'\n"
        "queue = { kind = 'droptail', packets = 100 }\nforward = { loss = '0.05 %' }\n"
        "[flow.f]\nfrom = 'a'\nto = 'b'\ntcp = { profile = 'linux-6' }\n"
    )
    for tcp in ("interval", "ack"):
        results = lh.Scenario.parse(text, set=[f"output.tcp={tcp}"]).run()
        assert results.flows["retransmits"].to_pylist()[0] > 5
        rates = np.asarray(axes_of(results.plot.throughput(every=0.1)).lines[0].get_ydata())
        # A sample counts whole packets: one more or less than the rate carries.
        assert rates.max() < 20 + 12e-3 / 0.1
        # What was acknowledged jumps: it cannot have come over this link.
        acked = results.tcp.filter(pc.equal(results.tcp["trigger"], "interval"))
        if tcp == "interval":
            steps = np.diff(acked["bytes_acked"].to_numpy().astype(float)) * 8 / 0.1 / 1e6
            assert steps.max() > 25


def test_throughput_is_what_arrived_over_time(made_up: Results) -> None:
    line = axes_of(made_up.plot.throughput("ftp", every=5)).lines[0]
    assert np.asarray(line.get_ydata()) == pytest.approx(320, rel=0.03)  # 40 kB/s
    later = axes_of(made_up.plot.throughput("ftp", t=(20, 30), every=5)).lines[0]
    assert np.asarray(later.get_ydata()) == pytest.approx(320, rel=0.03)


def test_throughput_of_udp_comes_from_arrived_packets(made_up: Results) -> None:
    line = axes_of(made_up.plot.throughput("voice", every=2)).lines[0]
    assert np.asarray(line.get_ydata())[:4] == pytest.approx(12.8, rel=0.03)  # 32 B of payload every 20 ms
    without = Results(MadeUp(packets=False)).plot
    with pytest.raises(LasthopError, match=r"nothing of voice was recorded over time: set output\.packets = true"):
        without.throughput("voice")
    with pytest.raises(LasthopError, match="no samples of flow 'vioce'"):
        without.throughput("vioce")
    axes = axes_of(without.throughput())
    assert [line.get_label() for line in axes.lines] == ["ftp", "web"]
    assert axes.get_title(loc="left") == "not recorded: voice (output.packets)"
    assert axes_of(made_up.plot.throughput()).get_title(loc="left") == ""


def test_sequence_numbers_count_from_the_start_of_the_stream(made_up: Results) -> None:
    axes = axes_of(made_up.plot.sequence("ftp"))
    assert np.asarray(axes.lines[0].get_ydata()).max() == pytest.approx(299 * 1.460 + 0.001)
    assert legend_of(made_up.plot.sequence("ftp")) == ["sent", "retransmitted", "acknowledged"]
    # The first packet shown of these two seconds is sent again: what comes before it is not below
    # zero.
    later = axes_of(made_up.plot.sequence("ftp", t=(10.05, 12)))
    lowest = min(float(np.min(np.asarray(line.get_ydata()))) for line in later.lines)
    assert lowest == pytest.approx(100 * 1.460 + 0.001)


def test_sequence_says_what_is_missing(made_up: Results) -> None:
    with pytest.raises(LasthopError, match=r"output\.packets = true"):
        Results(MadeUp(packets=False)).plot.sequence("ftp")
    with pytest.raises(LasthopError, match="say which flow; there are: ftp, web"):
        made_up.plot.sequence()


def test_queues_of_links_and_bearers_are_shown_unless_always_empty(made_up: Results) -> None:
    assert legend_of(made_up.plot.queue()) == ["wired.forward", "dch.downlink"]
    assert axes_of(made_up.plot.queue("dch.*", unit="bytes")).get_ylabel() == "Queue (kB)"
    with pytest.raises(LasthopError, match=r"wired\.reverse"):
        made_up.plot.queue("nowhere")


def test_millions_of_points_become_a_picture_with_the_same_extremes() -> None:
    rng = np.random.default_rng(1)
    x = np.sort(rng.random(1_000_000))
    y = rng.normal(size=1_000_000)
    tx, ty = _thin.line(x, y)
    assert len(tx) <= 4 * _thin.BUCKETS
    assert (ty.min(), ty.max(), tx[0], tx[-1]) == (y.min(), y.max(), x[0], x[-1])
    assert np.all(np.diff(tx) >= 0)
    assert len(_thin.dots(x, y)[0]) < 400_000


def test_stretches_lie_on_multiples_and_end_with_the_data() -> None:
    assert _stretches(30.02, 34.5, 2.0).tolist() == [30, 32, 34, 34.5]
    assert _stretches(0.0, 0.0, 1.0).tolist() == [0, 1]
