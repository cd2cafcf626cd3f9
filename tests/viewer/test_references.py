"""The page looks as it did: pictures of it beside references, with a tolerance.

What moves pictures from machine to machine is text. So letters are not drawn (other tests read
them), and all text has the font that Matplotlib carries (DejaVu Sans), so that lines break at the
same words. The results are made up: those of the simulator may change on purpose. `make
page-references` renews the references.
"""

from __future__ import annotations

import base64
import io
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Browser, Page

from lasthop import Results
from lasthop._results import Tables
from lasthop.viewer import standalone, standalone_campaign

REFERENCES = Path(__file__).parent / "references"
FONT = Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
#: For a distance of colours (of 255) the share of pixels that may be further away. Large distances
#: are new or moved lines: the thinnest one over the width of a chart has 0.05 % of a picture. Small
#: ones are other colours of areas, and the antialiasing at edges, which differs between versions of
#: Chromium.
TOLERANCE = {96: 3e-4, 8: 4e-3}
SECONDS = 20.0


def text(values: list[str]) -> pa.Array:
    return pa.array(values).dictionary_encode()


def made_up() -> Results:
    """A run of formulas."""
    t = np.linspace(0.1, SECONDS, 200)
    flows = ["one", "two"]
    both = np.repeat(t, 2)
    window = [20 + 15 * (x % 5) / 5 + 10 * k for x in t for k in range(2)]
    tcp = pa.table(
        {
            "time_s": both,
            "flow": text(flows * len(t)),
            "snd_cwnd": np.array(window),
            "rtt_us": np.array([60_000 + 30_000 * math.sin(x + k) for x in t for k in range(2)]),
            "unacked": np.floor(np.array(window) * 0.9),
            "sacked": np.zeros(len(both)),
            "bytes_arrived": np.array([x * (2e5 + 1e5 * k) for x in t for k in range(2)]),
            "snd_nxt": np.array([x * 3e5 for x in t for _ in range(2)]),
            "notsent_bytes": np.full(len(both), 1e5),
        }
    )
    n = 40
    sent = np.arange(n) * 0.4
    packets = pa.table(
        {
            "time_s": np.concatenate([sent, sent + 0.3]),
            "packet": np.tile(np.arange(n), 2),
            "flow": text((flows * n)[:n] * 2),
            "node": text(["server"] * n + ["phone"] * n),
            "event": text(["sent"] * n + ["dropped" if k % 7 == 6 else "received" for k in range(n)]),
            "size": np.full(2 * n, 1500.0),
            "seq": np.tile(np.arange(n) * 1448.0, 2),
            "ack": np.full(2 * n, np.nan),
            "len": np.full(2 * n, 1448.0),
            "retransmission": pa.array([False] * 2 * n),
        }
    )
    edges = [(0, 0.05, "queue", "link"), (0.05, 0.1, "propagation", "link"), (0.1, 0.3, "rlc-queue", "phone")]
    stages = pa.table(
        {
            "packet": np.repeat(np.arange(n), 3),
            "part": np.zeros(3 * n),
            "flow": text([f for f in (flows * n)[:n] for _ in range(3)]),
            "stage": text([e[2] for e in edges] * n),
            "where": text([e[3] for e in edges] * n),
            "start_ns": np.array([(s + e[0]) * 1e9 for s in sent for e in edges]),
            "end_ns": np.array([(s + e[1]) * 1e9 for s in sent for e in edges]),
        }
    )
    events = pa.table(
        {
            "time_s": np.array([5.0, 5.6, 12.0]),
            "source": text(["ue/phone", "ue/phone", "flow/one"]),
            "kind": text(["handover-start", "handover-complete", "rto"]),
            "detail": text(["", "", "sender"]),
        }
    )
    table = pa.table({"flow": text(flows), "cc": text(["reno", "cubic"]), "goodput_bps": [1.6e6, 2.4e6]})
    tables = {"tcp": tcp, "packets": packets, "stages": stages, "events": events, "flows": table}
    manifest = {"name": "made-up", "seed": 1, "lasthop": "0", "scenario": "", "format": 1}
    return Results(Tables(json.dumps(manifest), json.dumps({"duration_s": SECONDS}), tables))


def explanations(_: Results) -> list[dict[str, Any]]:
    """Budgets of formulas: more causes than have a band of their own.

    And an interval with nothing to divide.
    """
    edges = np.linspace(0, SECONDS, 81)
    weights = np.array([[2 + math.sin(0.3 * i + k) + (4 if k == i // 20 else 0) for i in range(80)] for k in range(8)])
    shares = weights / weights.sum(axis=0)
    whole = np.full(80, 0.25)
    whole[40] = 0
    causes = ["rlc-queue", "queue", "queue", "harq", "pacing", "grant-wait", "recovery", "core", "node"]
    parts = [
        {"cause": c, "place": f"p{i}", "share": (9 - i) / 45, "s": (9 - i) / 45 * SECONDS} for i, c in enumerate(causes)
    ]
    one = {
        "exact": True,
        "of": "time",
        "named": 7,
        "sentences": ["For 20 % of the transfer, 4 s, its octets were in the RLC queue (p0)."],
        "parts": parts,
        "timeline": {"edges_s": edges.tolist(), "whole_s": whole.tolist(), "shares": shares.round(4).tolist()},
        "advice": [{"text": "Make it smaller.", "set": ["a.b=1"]}],
    }
    return [{"flow": "one", **one}, {"flow": "two", **one, "exact": False}]


CAMPAIGN: dict[str, Any] = {
    "name": "made-up",
    "description": "Formulas.",
    "level": 0.95,
    "axes": [
        {"name": "rate", "unit": "Mbit/s", "labels": ["1 Mbit/s", "10 Mbit/s", "100 Mbit/s"], "numbers": [1, 10, 100]},
        {"name": "cc", "unit": "", "labels": ["reno", "cubic"], "numbers": None},
        {"name": "delay", "unit": "ms", "labels": ["5 ms", "50 ms"], "numbers": [5, 50]},
    ],
    "metrics": [{"name": "goodput", "unit": "bit/s", "least": 0}],
    "points": [
        {"at": [i, j, k], "values": [[m := (i + 1) * 3e6 + j * 1e6 - k * 5e5, m * 0.9, m * 1.1, 5]]}
        for i in range(3)
        for j in range(2)
        for k in range(2)
    ],
    "failures": 0,
}


@pytest.fixture
def bare(browser: Browser) -> Iterator[Page]:
    """A page with the font of Matplotlib, and without letters in canvases."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True, reduced_motion="reduce")
    page = context.new_page()
    page.add_init_script("CanvasRenderingContext2D.prototype.fillText = () => {};")
    yield page
    context.close()


def opened(page: Page, html: str, folder: Path) -> Page:
    (folder / "page.html").write_text(html, encoding="utf-8")
    page.goto((folder / "page.html").as_uri())
    font = base64.b64encode(FONT.read_bytes()).decode()
    page.add_style_tag(
        content=f"@font-face {{ font-family: Fixed; src: url(data:font/ttf;base64,{font}); }}"
        "* { font-family: Fixed !important; font-weight: 400 !important; caret-color: transparent !important;"
        " -webkit-text-fill-color: transparent !important; text-decoration-color: transparent !important; }"
        # Where it stands would depend on how far the picture's part is scrolled.
        ".bar { position: static !important; }"
    )
    page.evaluate("document.fonts.load('16px Fixed').then(() => document.fonts.ready)")
    page.wait_for_selector("html[data-ready]")
    # Charts out of sight are drawn a little later.
    page.wait_for_timeout(600)
    return page


@pytest.fixture
def run_page(bare: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.setattr("lasthop.viewer._embed.explained", explanations)
    monkeypatch.setattr("lasthop.viewer._index.explainable", lambda _: {"flows": ["one", "two"], "quick": True})
    return opened(bare, standalone({"made-up": made_up()}), tmp_path)


def differs(picture: bytes, name: str, folder: Path) -> bool:
    """Whether a picture is beyond the tolerance from its reference.

    Then both stay in the folder.
    """
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    file = REFERENCES / f"{name}.png"
    if os.environ.get("LASTHOP_RENEW_REFERENCES"):
        image.save(file, optimize=True)
    reference = Image.open(file).convert("RGB")
    image.save(folder / f"{name}.png")
    if image.size != reference.size:
        return True
    distance = np.asarray(ImageChops.difference(image, reference)).max(axis=2)
    Image.fromarray(distance).save(folder / f"{name}-difference.png")
    return any(float((distance > far).mean()) > share for far, share in TOLERANCE.items())


def test_the_page_of_a_run(run_page: Page, tmp_path: Path) -> None:
    run_page.locator("canvas.ways").focus()
    for _ in range(3):
        run_page.keyboard.press("ArrowRight")
    run_page.wait_for_selector(".life caption")
    run_page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    for part in ("why", "series", "packets"):
        picture = run_page.locator(f"#{part}").screenshot(animations="disabled")
        assert not differs(picture, f"run-{part}", tmp_path), f"{part}: see {tmp_path}"


def test_the_page_on_a_small_dark_screen(run_page: Page, tmp_path: Path) -> None:
    run_page.set_viewport_size({"width": 400, "height": 800})
    run_page.get_by_title("Dark or light").click()
    run_page.wait_for_timeout(600)
    picture = run_page.locator("#series").screenshot(animations="disabled")
    assert not differs(picture, "run-small-dark", tmp_path), f"see {tmp_path}"


def test_the_page_of_a_campaign(bare: Page, tmp_path: Path) -> None:
    opened(bare, standalone_campaign(CAMPAIGN, ""), tmp_path)
    bare.locator(".multiples").focus()
    bare.keyboard.press("ArrowRight")
    picture = bare.locator("#campaign").screenshot(animations="disabled")
    assert not differs(picture, "campaign", tmp_path), f"see {tmp_path}"


COLOUR = "document.documentElement.style.cssText = '{}'; document.dispatchEvent(new Event('theme'))"
CHANGES = {
    "marks": COLOUR.format("--mark-handover: #00734f"),
    "grids": COLOUR.format("--line: #1b1f24"),
    "paper": COLOUR.format("--paper: #eeeeee"),
    "a chart two pixels lower": "document.querySelectorAll('.chart')[1].style.transform = 'translateY(2px)'",
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(run_page: Page, tmp_path: Path, change: str) -> None:
    if os.environ.get("LASTHOP_RENEW_REFERENCES"):
        pytest.skip("the references are being renewed")
    run_page.evaluate(CHANGES[change])
    run_page.wait_for_timeout(600)
    run_page.evaluate("scrollTo(0, 0)")
    picture = run_page.locator("#series").screenshot(animations="disabled")
    assert differs(picture, "run-series", tmp_path)
