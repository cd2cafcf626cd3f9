"""`lasthop linux`: the kernel's sources, settings and cache.

What needs a kernel runs where one is in the cache.
"""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from lasthop import LasthopError, Results, Scenario
from lasthop.cli import main
from lasthop.linux import CONTROLS, _boot, _build, _edits, _scratch, at, run

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux on x86-64")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The places in the sources that are edited, as Linux 6.1 has them."""
    for edit in _edits.edits(0):
        path = tmp_path / edit.file
        path.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "arch/um/Kconfig").write_text("config HZ\n\tint\n\tdefault 100\n\nconfig X86\n")
    (tmp_path / "arch/x86/um/user-offsets.c").write_text("\tDEFINE_LONGS(HOST_FP_SIZE, 2696);\n")
    header, clock = "arch/um/include/linux/time-internal.h", "arch/um/kernel/time.c"
    (tmp_path / header).write_text("#define TIMER_MULTIPLIER 256\n#define TIMER_MIN_DELTA  500\n")
    (tmp_path / clock).write_text(
        "void time_travel_sleep(void)\n{\n}\n\t\t\ttime_travel_update_time_rel(TIMER_MULTIPLIER);\n"
    )
    (tmp_path / "arch/um/kernel/skas/syscall.c").write_text("\t\t\tum_udelay(1);\n")
    (tmp_path / "arch/um/os-Linux/util.c").write_text("{\n\treturn getrandom(buf, len, flags);\n}\n")
    return tmp_path


@pytest.mark.parametrize(("xsave", "room"), [(11008, 11008), (832, 2696)])
def test_the_sources_get_a_tick_of_1_ms_and_room_for_the_host(tree: Path, xsave: int, room: int) -> None:
    _edits.apply(tree, xsave)
    assert "default 1000\n" in (tree / "arch/um/Kconfig").read_text()
    assert f"HOST_FP_SIZE, {room})" in (tree / "arch/x86/um/user-offsets.c").read_text()


def test_random_numbers_come_from_the_seed(tree: Path) -> None:
    _edits.apply(tree, 0)
    util = (tree / "arch/um/os-Linux/util.c").read_text()
    assert "return getrandom(" not in util
    body = re.search(r"\{\n(.*)\}", util, re.DOTALL)
    assert body is not None
    program = tree / "random.c"
    head = "#include <stdio.h>\n#include <stdlib.h>\nlong os(void *buf, size_t len) {\n"
    tail = '}\nint main(void) { unsigned char b[4]; os(b, 4); printf("%x %x %x %x", b[0], b[1], b[2], b[3]); }\n'
    program.write_text(head + body[1] + tail)
    if subprocess.run(["gcc", program, "-o", tree / "random"], check=False).returncode != 0:
        pytest.skip("needs gcc")
    done = subprocess.run([tree / "random"], env={_edits.SEED: "0"}, capture_output=True, text=True, check=True)
    # SplitMix64 from 0: e220a8397b1dcdaf, 6e789e6aa1b965f4, 06c45d188009454f, f88bb8a8724c81ec (S.
    # Vigna's splitmix64.c prints these); the top octets.
    assert done.stdout == "e2 6e 6 f8"


def test_other_sources_are_refused_with_the_line(tree: Path) -> None:
    (tree / "arch/um/Kconfig").write_text("config HZ\n\tint\n\tdefault 250\n")
    with pytest.raises(LasthopError, match=r"arch/um/Kconfig has no line `default 100`.*\n.*linux-source-6.1"):
        _edits.apply(tree, 0)


def test_a_setting_that_the_sources_lack_is_named() -> None:
    with pytest.raises(LasthopError, match="CONFIG_B=y"):
        _build._check_config("# text\nCONFIG_A=y\nCONFIG_B=y\n", "CONFIG_A=y\n")


def test_the_settings_name_every_control_but_reno() -> None:
    config = Path(_build.__file__).with_name("kernel.config").read_text()
    names = {"hstcp": "highspeed"}
    found = {names.get(word.lower(), word.lower()) for word in re.findall(r"CONFIG_TCP_CONG_(\w+)=y", config)}
    assert found - {"advanced"} == set(CONTROLS) - {"reno"}
    assert len(CONTROLS) == 17


@LINUX
def test_without_a_kernel_the_message_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(LasthopError, match="`lasthop linux build`"):
        _build.find()
    with pytest.raises(LasthopError, match="is no program"):
        _build.find(tmp_path)


@LINUX
def test_a_kernel_and_a_manifest_that_do_not_belong_together_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "lasthop" / "linux"
    folder.mkdir(parents=True)
    kernel = folder / "linux"
    kernel.write_bytes(b"old")
    manifest = {"kernel_sha256": _build._sha256(kernel), "linux": "6.1", **_build._sources(2696)}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert _build.find().manifest["linux"] == "6.1"
    (folder / "manifest.json").write_text(json.dumps({**manifest, "edits_sha256": "of an earlier version"}))
    with pytest.raises(LasthopError, match=r"another version of Lasthop(.|\n)*`lasthop linux build`"):
        _build.find()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    kernel.write_bytes(b"half")
    with pytest.raises(LasthopError, match="no kernel was built"):
        _build.find()


@LINUX
def test_missing_sources_and_programs_name_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LasthopError, match="no such file"):
        _build._source(tmp_path / "absent")
    monkeypatch.setattr(_build, "SOURCE", tmp_path / "absent")
    with pytest.raises(LasthopError, match=r"apt install linux-source-6\.1"):
        _build._source(None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LasthopError, match=r"needs gcc, ld, make.*\n.*apt install bc binutils"):
        _build._check_programs()


def test_other_machines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    with pytest.raises(LasthopError, match="x86-64"):
        _boot.check_host()


def fake(folder: Path, script: str) -> Path:
    path = folder / "linux"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@LINUX
def test_a_kernel_that_fails_shows_its_last_lines(tmp_path: Path) -> None:
    kernel = fake(tmp_path, "seq 1 30; echo ptrace set fp regs failed; exit 3")
    with pytest.raises(LasthopError, match="ended with code 3") as caught:
        _boot.boot(kernel, ["true"])
    assert "  | 30\n" in str(caught.value)
    assert "  | 10\n" not in str(caught.value)
    assert "built on another processor" in str(caught.value)


@LINUX
def test_a_program_that_is_no_kernel_is_named(tmp_path: Path) -> None:
    scenario = Scenario.load("dumbbell", set=at(["server", "client"]))
    for manifest, words in [({}, "has to be a User-mode Linux kernel"), ({"linux": "6.1"}, "linux build --force")]:
        kernel = _build.Kernel(fake(tmp_path, "exit 0"), manifest)
        with pytest.raises(LasthopError, match=words):
            run(scenario, kernel, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@LINUX
def test_a_guest_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    kernel = fake(tmp_path, f"sleep 100 & echo $! $$ > {pids}; echo began; wait")
    with pytest.raises(LasthopError, match=r"not ended after 0.5 s(.|\n)*began"):
        _boot.boot(kernel, ["true"], limit=0.5)
    until = time.monotonic() + 5
    left = [Path("/proc", pid) for pid in pids.read_text().split()]
    while any(alive(process) for process in left):
        assert time.monotonic() < until
        time.sleep(0.01)


def alive(process: Path) -> bool:
    try:
        return (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@LINUX
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_asks_the_guest_and_leaves_nothing(tmp_path: Path) -> None:
    kernel = fake(tmp_path, f"while [ ! -e {tmp_path}/stop ]; do sleep 0.05; done; echo well > {tmp_path}/ended")

    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _boot.boot(kernel, ["true"], watch=press, stop=(tmp_path / "stop").touch)
    assert (tmp_path / "ended").read_text() == "well\n"


@LINUX
def test_at_the_limit_the_results_up_to_then_remain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    ends = "mkdir $d/out; echo rows > $d/out/summary.json; echo '{\"done\": true}' > $d/answer.json"
    begins = f"d=$(dirname {folder}/lasthop-guest-*/job.json)"
    kernel = _build.Kernel(fake(tmp_path, f"{begins}; until test -e $d/stop; do sleep 0.05; done; {ends}"), {})
    scenario = Scenario.load("dumbbell", set=at(["server", "client"]))
    with pytest.raises(LasthopError, match=r"ended after 0.5 s of wall time; its results (.|\n)*raise --limit"):
        run(scenario, kernel, tmp_path / "out", limit=0.5)
    assert (tmp_path / "out" / "summary.json").read_text() == "rows\n"
    assert not list(folder.iterdir())


@LINUX
def test_the_share_that_has_passed_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    # A file that is being written is empty at first.
    script = f"d=$(dirname {folder}/lasthop-guest-*/job.json); : > $d/share; sleep 0.2; echo 0.25 > $d/share; "
    kernel = _build.Kernel(fake(tmp_path, f"{script}until test -e {tmp_path}/seen; do sleep 0.05; done"), {})
    shown: list[float] = []

    def show(share: float) -> None:
        shown.append(share)
        (tmp_path / "seen").touch()

    scenario = Scenario.load("dumbbell", set=at(["server", "client"]))
    with pytest.raises(LasthopError, match="without an answer"):
        run(scenario, kernel, tmp_path / "out", progress=show)
    assert set(shown) == {0.25}


@LINUX
@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_gives_the_guest_of_a_command_its_own_time(tmp_path: Path, signals: int) -> None:
    """Longer than commands have to clean up otherwise: 0.2 s here. A second one ends it at once."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    job = f"{folder}/lasthop-guest-*/job.json"
    wait = "until test -e $d/stop; do sleep 0.05; done"
    slow = "sleep 1; mkdir $d/out; echo rows > $d/out/summary.json; echo '{\"done\": true}' > $d/answer.json"
    kernel = fake(tmp_path, f"d=$(dirname {job}); echo > {tmp_path}/began; {wait}; {slow}")
    command = "from lasthop import _command, _stop; _stop.CLEAN_WITHIN = 0.2; _command.main()"
    words = ["linux", "run", "dumbbell", "--kernel-at", "server,client", "--kernel", str(kernel)]
    run = subprocess.Popen(
        [sys.executable, "-c", command, *words, "--out", str(tmp_path / "out")],
        env={**os.environ, "TMPDIR": str(folder)},
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what is in the background with SIGINT ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    while not (tmp_path / "began").exists() and run.poll() is None:
        time.sleep(0.01)
    for _ in range(signals):
        run.send_signal(signal.SIGINT)
        while not list(folder.glob("lasthop-guest-*/stop")) and run.poll() is None:
            time.sleep(0.01)
    _, printed = run.communicate()
    assert run.returncode == 130, printed
    if signals == 1:
        assert f"the results are complete in {tmp_path / 'out'}" in printed
        assert (tmp_path / "out" / "summary.json").read_text() == "rows\n"
        assert not list(folder.iterdir())
    else:
        assert "no result was written" in printed
        assert not (tmp_path / "out").exists()


@LINUX
def test_folders_that_a_killed_program_has_left_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = (
        "from lasthop.linux._scratch import scratch\nimport time\n"
        "with scratch() as one, scratch() as two:\n print(one, two, flush=True)\n time.sleep(100)"
    )

    def start() -> subprocess.Popen[str]:
        words = [sys.executable, "-c", program]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)})

    with start() as killed, start() as running:
        assert killed.stdout is not None
        assert running.stdout is not None
        left = [Path(name) for name in killed.stdout.readline().split()]
        used = [Path(name) for name in running.stdout.readline().split()]
        killed.kill()
        killed.wait()
        assert all(folder.is_dir() for folder in [*left, *used])
        with _scratch.scratch() as own:
            assert set(tmp_path.iterdir()) == {own, *used}
        running.kill()
    with _scratch.scratch() as own:
        (own / "file").touch()
        assert list(tmp_path.iterdir()) == [own]
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def kernel() -> _build.Kernel:
    try:
        return _build.find()
    except LasthopError as error:
        pytest.skip(f"no kernel to run: {error}")


def test_the_kernel_in_the_cache_boots_with_every_control(kernel: _build.Kernel) -> None:
    assert _build.check_boot(kernel.path) == sorted(CONTROLS)


PATH = """
[scenario]
name = "path"
duration = "3 s"

[link.path]
between = ["server", "phone"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", packets = 83 }

[flow.ftp]
from = "server"
to = "phone"
app = "bulk"
tcp = { profile = "linux-6", cc = "cubic" }
"""


def guest(kernel: _build.Kernel, out: Path, *sets: str, text: str = PATH) -> Results:
    scenario = Scenario.parse(text, set=[*at(["server", "phone"]), *sets])
    shown: list[float] = []
    results = run(scenario, kernel, out, progress=shown.append)
    assert shown == sorted(shown)
    assert all(0 < share <= 1 for share in shown)
    return results


@pytest.mark.parametrize("narrow", ["path", "last"])
def test_a_device_has_the_smallest_mtu_of_the_links_of_its_node(
    kernel: _build.Kernel, tmp_path: Path, narrow: str
) -> None:
    """The kernel announces the MSS that its link takes: no packet is too large for a link."""
    last = '[link.last]\nbetween = ["router", "phone"]\nrate = "100 Mbit/s"\ndelay = "1 ms"\n'
    text = PATH.replace('"phone"]', '"router"]') + last
    found = guest(kernel, tmp_path / "out", f"link.{narrow}.mtu=1400 B", "scenario.duration=1 s", text=text)
    assert found.flows.to_pylist()[0]["app_bytes"] > 200_000
    assert found.summary["live"]["answers_of_routers"] == 0
    assert "fragmentation-needed" not in found.table("drops")["cause"].to_pylist()


def test_a_run_repeats_byte_for_byte_wherever_its_files_are(kernel: _build.Kernel, tmp_path: Path) -> None:
    # The names of folders have another length, and the machine is busy during one of the runs.
    folders = [tmp_path / "a", tmp_path / "a-much-longer-name" / "of-a-folder" / "b"]
    guest(kernel, folders[0], "flow.ftp.tcp.cc=bbr")
    folders[1].parent.mkdir(parents=True)
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        guest(kernel, folders[1], "flow.ftp.tcp.cc=bbr")
    finally:
        busy.kill()
        busy.wait()
    one, two = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert len(one) >= 8
    assert one == two


def test_a_real_kernel_fills_the_path_as_the_simulated_one_does(kernel: _build.Kernel, tmp_path: Path) -> None:
    found = guest(kernel, tmp_path / "out", "scenario.duration=10 s", "output.packets=true")
    assert found.summary["live"]["kernel"] == kernel.manifest["linux"]
    flow = found.flows.to_pylist()[0]
    assert (flow["profile"], flow["cc"], flow["transport"]) == ("kernel", "cubic", "tcp")
    ours = Scenario.parse(PATH, set=["scenario.duration=10 s"]).run().flows.to_pylist()[0]
    assert flow["goodput_bps"] == pytest.approx(ours["goodput_bps"], rel=0.03)
    assert flow["cwnd_mean"] == pytest.approx(ours["cwnd_mean"], rel=0.05)
    # Virtual time stands still while something computes: nothing is later than the timer's
    # nanosecond.
    assert found.summary["live"]["lateness"]["p99_s"] <= 1e-9
    rows = found.tcp.to_pylist()
    assert len(rows) == 100
    assert rows[-1]["bytes_acked"] * 8 / 10 == pytest.approx(flow["goodput_bps"], rel=0.02)
    # Segments that are marked by their numbers are those that the kernel counts.
    packets = found.packets.to_pylist()
    again = [p for p in packets if p["event"] == "sent" and p["retransmission"]]
    assert len(again) == rows[-1]["total_retrans"] > 0
    assert all(p["len"] > 0 and p["flow"] == "ftp" for p in again)
    # The SYN has number 0, and data follow without a gap.
    sent = [p for p in packets if p["event"] == "sent" and p["node"] == "server" and not p["retransmission"]]
    assert (sent[0]["seq"], sent[0]["flags"]) == (0, "S")
    data = [p for p in sent if p["len"] > 0]
    assert [p["seq"] for p in data[1:]] == [p["seq"] + p["len"] for p in data[:-1]]


def test_the_handshake_gives_a_round_trip_time(kernel: _build.Kernel, tmp_path: Path) -> None:
    """Also to one that opens with the run: 60 octets take 0.05 ms each way, and 20 ms."""
    found = guest(kernel, tmp_path / "out", "scenario.duration=100 ms", "output.tcp=ack")
    first = found.tcp.to_pylist()[0]
    assert first["bytes_acked"] == 0
    assert first["rtt_us"] == pytest.approx(40_100, abs=20)
    # RFC 6298 (2.2) with Linux' minimum of 200 ms for the variance: 40.1 + 200 ms, in whole ms.
    assert first["rto_us"] == pytest.approx(241_000, abs=1_000)


@pytest.mark.parametrize(("sets", "window"), [([], 10), (["flow.ftp.tcp.initial_window=3"], 3)])
def test_a_connection_begins_with_the_initial_window_that_the_flow_sets(
    kernel: _build.Kernel, tmp_path: Path, sets: list[str], window: int
) -> None:
    """TCP_INIT_CWND is 10 (include/net/tcp.h); a route may have another one (RTAX_INITCWND)."""
    found = guest(kernel, tmp_path / "out", "scenario.duration=100 ms", "output.packets=true", "output.tcp=ack", *sets)
    assert found.tcp.to_pylist()[0]["snd_cwnd"] == window
    # Data that have left before the first ACK of data can be back: the handshake takes one round
    # trip of 40 ms, and another one has to pass.
    packets = found.packets.to_pylist()
    data = [p for p in packets if p["event"] == "sent" and p["node"] == "server" and p["len"] > 0]
    assert len([p for p in data if p["time_s"] < 0.080]) == window


def test_every_control_of_the_kernel_carries_a_flow(kernel: _build.Kernel, tmp_path: Path) -> None:
    flow = '{ from = "server", to = "phone", app = { kind = "bulk" }, tcp = { profile = "linux-6", cc = "CC" } }'
    flows = [f"flow.{cc}={flow.replace('CC', cc)}" for cc in CONTROLS]
    found = guest(kernel, tmp_path / "out", *flows)
    by_name = {flow["flow"]: flow for flow in found.flows.to_pylist()}
    assert {name: by_name[name]["cc"] for name in CONTROLS} == {name: name for name in CONTROLS}
    assert all(by_name[name]["profile"] == "kernel" and by_name[name]["app_bytes"] > 5_000 for name in CONTROLS)
    # They are not all one control: as many share a window in the end as have met the same losses.
    assert len({by_name[name]["cwnd_mean"] for name in CONTROLS}) == len(CONTROLS)


def test_each_flow_shows_its_own_sender_up_to_the_last_packet(kernel: _build.Kernel, tmp_path: Path) -> None:
    """Samples are taken of flows that may have changed, and no change is missed."""
    more = [
        'link.second={ between = ["server", "laptop"], rate = "5 Mbit/s", delay = "10 ms" }',
        'flow.back={ from = "laptop", to = "server", app = "bulk", tcp = { profile = "linux-6", cc = "cubic" } }',
        'flow.page={ from = "server", to = "phone", app = { kind = "file", size = "100 kB" } }',
        *at(["laptop"]),
        "output.tcp=ack",
        "output.packets=true",
    ]
    found = guest(kernel, tmp_path / "out", *more)
    sizes = {flow["flow"]: flow["app_bytes"] for flow in found.flows.to_pylist()}
    assert sizes["page"] == 100_000
    packets = found.packets.to_pylist()
    for name, size in sizes.items():
        last = [row for row in found.tcp.to_pylist() if row["flow"] == name][-1]
        own = [p for p in packets if p["flow"] == name]
        acks = [p["ack"] - 1 for p in own if p["event"] == "received" and p["len"] == 0 and p["ack"] is not None]
        # A FIN has a number, too.
        assert last["bytes_acked"] - max(acks) in (0, -1)
        assert last["bytes_acked"] - 1 <= last["bytes_arrived"] <= size + 1
        again = [p for p in own if p["event"] == "sent" and p["retransmission"]]
        assert last["total_retrans"] == len(again)


def test_flows_of_other_ends_and_of_other_transports_are_simulated(kernel: _build.Kernel, tmp_path: Path) -> None:
    own = [
        'link.other={ between = ["laptop", "phone"], rate = "5 Mbit/s", delay = "5 ms" }',
        'flow.own={ from = "laptop", to = "laptop2", app = "bulk" }',
        'link.more={ between = ["laptop", "laptop2"], rate = "5 Mbit/s", delay = "5 ms" }',
        'flow.call={ from = "server", to = "phone", transport = "udp", app = { kind = "voip" } }',
        'flow.page={ from = "server", to = "phone", app = { kind = "file", size = "100 kB" } }',
    ]
    found = {flow["flow"]: flow for flow in guest(kernel, tmp_path / "out", *own).flows.to_pylist()}
    assert found["ftp"]["profile"] == "kernel"
    assert found["own"]["profile"] != "kernel"
    assert found["own"]["goodput_bps"] > 3e6
    assert found["call"]["rx_packets"] > 50
    assert (found["page"]["profile"], found["page"]["app_bytes"]) == ("kernel", 100_000)
    assert found["page"]["completion_s"] is not None


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (["flow.ftp.tcp.cc=prague"], r"no congestion control `prague`(.|\n)*it has .*cubic"),
        (["flow.ftp.tcp.initial_ssthresh=20"], r"no `tcp.initial_ssthresh`(.|\n)*those that it has"),
        (["flow.ftp.tcp.burst_read=false"], "not each segment"),
        (["node.server=!"], r"one end has a real kernel's TCP and `server` has not(.|\n)*--kernel-at"),
        (['flow.ftp={ from = "server", to = "phone", transport = "udp", app = "cbr" }'], "no TCP flow has both ends"),
        (['flow.two={ from = "server", to = "phone", app = "bulk", tcp = { sack = false } }'], "different settings"),
        (
            ['flow.two={ from = "phone", to = "server", app = "bulk", tcp = { initial_window = 4 } }'],
            r"different initial windows between the same nodes(.|\n)*for all flows of the two nodes",
        ),
    ],
)
def test_what_the_kernel_cannot_carry_is_refused_with_a_remedy(
    kernel: _build.Kernel, tmp_path: Path, sets: list[str], words: str
) -> None:
    nodes = ["phone"] if "node.server=!" in sets else ["server", "phone"]
    scenario = Scenario.parse(PATH, set=[*at(nodes), *[s for s in sets if "=!" not in s]])
    with pytest.raises(LasthopError, match=words):
        run(scenario, kernel, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_leaves_results_up_to_then_and_no_process(kernel: _build.Kernel, tmp_path: Path) -> None:
    file = tmp_path / "path.toml"
    file.write_text(PATH)
    command = [sys.executable, "-m", "lasthop", "linux", "run", str(file), "--kernel-at", "server,phone"]
    command += ["--set", "scenario.duration=1 h", "--out", str(tmp_path / "out"), "--kernel", str(kernel.path)]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    guest = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(scratch)})
    until = time.monotonic() + 60
    while not list(scratch.glob("*/out.*.partial/tcp*")) and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(0.5)
    guest.send_signal(signal.SIGINT)
    _, errors = guest.communicate(timeout=60)
    assert guest.returncode == 130, errors
    assert f"the results are complete in {tmp_path / 'out'}" in errors
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["live"]["ended_by"] == "stopped"
    # On a busy machine the file is there before the run begins.
    assert 0 <= summary["live"]["ended_s"] < 3600
    assert list(scratch.iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"out", "path.toml", "scratch"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_guest_ends_with_the_program_that_has_started_it(
    kernel: _build.Kernel, tmp_path: Path, number: signal.Signals
) -> None:
    """Also where the program does not unwind: neither signal has a handler in it."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = (
        "import sys\nfrom pathlib import Path\nfrom lasthop import Scenario\nfrom lasthop.linux import at, find, run\n"
        "scenario = Scenario.parse(sys.argv[1], set=[*at(['server', 'phone']), 'scenario.duration=1 h'])\n"
        "run(scenario, find(Path(sys.argv[2])), Path(sys.argv[3]))\n"
    )
    words = [sys.executable, "-c", program, PATH, str(kernel.path), str(tmp_path / "out")]
    with subprocess.Popen(words, env={**os.environ, "TMPDIR": str(scratch)}) as host:
        until = time.monotonic() + 60
        while not list(scratch.glob("*/out.*.partial/tcp*")) and time.monotonic() < until:
            time.sleep(0.1)
        children = Path(f"/proc/{host.pid}/task/{host.pid}/children").read_text().split()
        host.send_signal(number)
    assert host.returncode == -number
    guest = int(children[0])
    assert len(children) == 1
    until = time.monotonic() + 30
    while _boot._session(guest) and time.monotonic() < until:
        time.sleep(0.1)
    assert _boot._session(guest) == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("nodes", "words"), [("server,,phone", "no list of nodes"), ("server,nowhere", "unknown node `nowhere`")]
)
def test_wrong_nodes_are_named(kernel: _build.Kernel, tmp_path: Path, nodes: str, words: str) -> None:
    file = tmp_path / "path.toml"
    file.write_text(PATH)
    result = CliRunner().invoke(main, ["linux", "run", str(file), "--kernel-at", nodes])
    assert result.exit_code in (1, 2)
    assert words in result.output


def test_lasthop_run_refuses_a_node_of_a_real_kernel() -> None:
    with pytest.raises(LasthopError, match=r"(?s)of a real kernel.*`lasthop linux run`"):
        Scenario.parse(PATH, set=at(["phone", "server"])).run()
