"""`lasthop live`: real packets through namespaces, where the machine has them.

Else the tests say so by name.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lasthop import Results, _core

CHECK = json.loads(_core.live_check())
namespaces = pytest.mark.skipif(
    not CHECK[0]["ok"], reason=f"live traffic was not tried: {CHECK[0]['what']}: {CHECK[0]['found']}"
)

unshared = pytest.mark.skipif(
    not CHECK[0]["ok"]
    or not (shutil.which("ip") and shutil.which("unshare"))
    or subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode != 0,
    reason="no ip or unshare -rn here: no device was given by name",
)

#: 8 Mbit/s and 10 ms each way, through a router.
SCENARIO = """
[scenario]
name = "wire"
duration = "20 s"
[link.l1]
between = ["server", "router"]
rate = "8 Mbit/s"
delay = "10 ms"
[link.l2]
between = ["router", "phone"]
rate = "100 Mbit/s"
delay = "0 ms"
mtu = "1400 B"
"""


def live(tmp_path: Path, *args: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "wire.toml").write_text(SCENARIO, encoding="utf-8")
    words = [sys.executable, "-m", "lasthop", "live", str(tmp_path / "wire.toml"), "--late-limit", "1 s"]
    return subprocess.run([*words, *args], capture_output=True, text=True, timeout=60, check=False)


def python(code: str) -> str:
    return f"{sys.executable} -c '{code}'"


#: Sends 200 kB over TCP from the server to the phone, which notes how much came.
SERVE = 'import socket;s=socket.create_server(("0.0.0.0",7000));c=s.accept()[0];c.sendall(bytes(200000));c.close()'
FETCH = (
    'import socket;c=socket.create_connection(("server",7000));n=0\n'
    "while 1:\n b=c.recv(65536)\n n+=len(b)\n if not b: break\n"
    "print(n)"
)


@namespaces
def test_packets_of_a_transfer_arrive_when_the_links_say(tmp_path: Path) -> None:
    out = tmp_path / "results"
    args = ("--in", f"server={python(SERVE)}", "--in", f"phone={python(FETCH)}", "--out", str(out))
    done = live(tmp_path, *args, "--set", "output.packets=true")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "200000"
    results = Results.load(out)
    down = next(f for f in results.flows.to_pylist() if f["src"] == "server" and f["transport"] == "real-tcp")
    assert down["flow"].startswith("tcp/10.0.0.1:7000>10.0.0.3:")
    assert down["app_bytes"] >= 200_000
    measured = results.summary["live"]
    assert measured["lateness"]["departures"]["count"] > 150
    # The phone's device has the MTU of its link, so its SYN limits segments to 1360 octets (RFC
    # 9293 section 3.7.1) and no router has a packet that is too large.
    assert measured["answers_of_routers"] == 0
    moments: dict[str, list[tuple[int, int]]] = {"sent": [], "received": []}
    for p in results.packets.to_pylist():
        if p["flow"] == down["flow"]:
            moments[p["event"]].append((round(p["time_s"] * 1e9), p["size"]))
    # In the time of the simulation [ns], whenever the kernel has sent a packet: an octet takes 1000
    # ns at 8 Mbit/s behind the packets before, 10 ms follow, and an octet takes 80 ns at 100 Mbit/s
    # behind the packets before.
    first = second = 0
    due = []
    for sent, size in moments["sent"]:
        first = max(first, sent) + 1000 * size
        second = max(second, first + 10_000_000) + 80 * size
        due.append((second, size))
    # 200,000 octets in segments of 1360 are 148. The run ends with the phone's program, perhaps
    # before the last ACK of its FIN.
    assert len(moments["received"]) >= 148
    assert moments["received"] == due[: len(moments["received"])]


@namespaces
@pytest.mark.skipif(shutil.which("ping") is None, reason="the program ping is not installed: no ping was sent")
def test_ping_reaches_host_and_router_by_name(tmp_path: Path) -> None:
    done = live(
        tmp_path,
        "--in",
        "phone=sleep 10",
        "--in",
        "server=ping -c 2 -i 0.2 router && ping -c 2 -i 0.2 phone && ping -c 2 -i 0.2 phone.ip6",
    )
    assert done.stdout.count("2 received") == 3, done.stdout + done.stderr
    # A router is one hop nearer, and each hop lowers the hop limit by one.
    assert "ttl=64" in done.stdout
    assert "ttl=63" in done.stdout


@namespaces
def test_a_program_that_fails_ends_the_run_with_its_status(tmp_path: Path) -> None:
    out = tmp_path / "results"
    done = live(tmp_path, "--in", "server=exit 7", "--in", "phone=sleep 30", "--out", str(out))
    assert done.returncode == 1, done.stderr
    assert "status 7: exit 7" in done.stderr, done.stderr
    assert (out / "manifest.json").exists()


@contextmanager
def sleeping(tmp_path: Path, seconds: int, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """A run whose only program sleeps, once it does."""
    (tmp_path / "wire.toml").write_text(SCENARIO, encoding="utf-8")
    words = [sys.executable, "-m", "lasthop", "live", str(tmp_path / "wire.toml"), "--out", str(tmp_path / "out")]
    # What is tested does not depend on the load of the machine.
    words += ["--late-limit", "60 s", "--in", f"server={before}echo on; exec sleep {seconds}"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "on\n"
        yield run


@namespaces
def test_a_signal_ends_the_run_with_whole_results_and_nothing_left(tmp_path: Path) -> None:
    with sleeping(tmp_path, 471) as run:
        run.send_signal(signal.SIGTERM)
    out = tmp_path / "out"
    assert run.returncode == 128 + signal.SIGTERM
    assert (out / "manifest.json").exists()
    assert json.loads((out / "summary.json").read_text(encoding="utf-8"))["live"]["ended_by"] == "stopped"
    assert not _running("sleep", "471")
    assert not list(Path(tempfile.gettempdir()).glob(f"lasthop-hosts-{run.pid}*"))


@namespaces
@pytest.mark.usefixtures("interruptible")
def test_a_second_ctrl_c_leaves_whole_results_too(tmp_path: Path) -> None:
    """The program ignores signals, so that the run waits a second for it."""
    with sleeping(tmp_path, 476, "trap '' TERM INT; ") as run:
        run.send_signal(signal.SIGINT)
        time.sleep(0.2)
        run.send_signal(signal.SIGINT)
    assert run.returncode == 128 + signal.SIGINT
    assert json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))["live"]["ended_by"] == "stopped"
    assert not _running("sleep", "476")


@namespaces
def test_a_namespace_whose_keeper_was_killed_is_removed_all_the_same(tmp_path: Path) -> None:
    with sleeping(tmp_path, 477) as run:
        keepers = [pid for pid in _children(run.pid) if "read -r _; [ " in _command(pid)]
        assert len(keepers) == 1
        os.kill(keepers[0], signal.SIGKILL)
        time.sleep(0.2)
        assert run.poll() is None
        run.send_signal(signal.SIGTERM)
    assert run.returncode == 128 + signal.SIGTERM
    assert (tmp_path / "out" / "manifest.json").exists()
    assert not _running("sleep", "477")


def _children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _command(process: int) -> str:
    return Path(f"/proc/{process}/cmdline").read_text(errors="replace").replace("\0", " ")


@namespaces
def test_files_that_killed_runs_have_left_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    left, held = scratch / "lasthop-hosts-1-1", scratch / "lasthop-hosts-2-2"
    left.write_text("10.0.0.1 server\n")
    # One that is locked belongs to a run that makes its namespaces now.
    with held.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = live(tmp_path, "--in", "server=cat /etc/hosts")
    assert done.returncode == 0, done.stderr
    assert "10.0.0.3 phone" in done.stdout
    assert list(scratch.iterdir()) == [held]


@namespaces
def test_programs_end_with_a_run_that_is_killed(tmp_path: Path) -> None:
    with sleeping(tmp_path, 472) as run:
        run.kill()
        run.wait()
        until = time.monotonic() + 5
        while _running("sleep", "472") and time.monotonic() < until:
            time.sleep(0.05)
        assert not _running("sleep", "472")


@namespaces
def test_what_a_program_leaves_behind_ends_with_the_run(tmp_path: Path) -> None:
    # A daemon: a session of its own, which the signals to the program's group do not reach.
    done = live(tmp_path, "--in", "server=setsid sleep 473 & sleep 0.1")
    assert done.returncode == 0, done.stderr
    assert not _running("sleep", "473")


@namespaces
def test_a_daemon_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "lasthop", "live", str(tmp_path / "wire.toml"), "--out", str(tmp_path / "out")]
    (tmp_path / "wire.toml").write_text(SCENARIO, encoding="utf-8")
    words += ["--in", "server=setsid sleep 474 & echo on; sleep 475"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "on\n"
        run.kill()
        run.wait()
        until = time.monotonic() + 5
        while (_running("sleep", "474") or _running("sleep", "475")) and time.monotonic() < until:
            time.sleep(0.05)
        assert not _running("sleep", "474")
        assert not _running("sleep", "475")


@namespaces
@pytest.mark.skipif(shutil.which("ip") is None, reason="the program ip is not installed: no device was removed")
def test_a_device_that_is_removed_ends_the_run_with_whole_results(tmp_path: Path) -> None:
    out = tmp_path / "results"
    done = live(tmp_path, "--in", "phone=ip link del lasthop0; sleep 30", "--out", str(out))
    assert done.returncode == 1, done.stderr
    assert "device of phone was removed" in done.stderr, done.stderr
    assert json.loads((out / "summary.json").read_text(encoding="utf-8"))["live"]["ended_by"] == "device-gone"


@unshared
@pytest.mark.skipif(
    shutil.which("ping") is None, reason="the program ping is not installed: no device was given by name"
)
def test_a_device_that_exists_is_taken_when_it_is_up_and_has_the_address(tmp_path: Path) -> None:
    (tmp_path / "wire.toml").write_text(SCENARIO, encoding="utf-8")
    run = f"{sys.executable} -m lasthop live {tmp_path}/wire.toml --late-limit '1 s' --out {tmp_path}/out"
    run += " --device server=tun7 --in phone='ping -c 2 -i 0.2 server'"
    steps = (
        f"ip tuntap add mode tun name tun7; {run}; ip addr add 10.0.0.1/8 dev tun7; {run}; ip link set tun7 up; {run}"
    )
    words = ["unshare", "-rn", "sh", "-c", steps]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert "it has not the address 10.0.0.1" in done.stderr, done.stderr
    assert "it is down" in done.stderr, done.stderr
    assert done.stdout.count("2 received") == 1, done.stdout + done.stderr


@unshared
@pytest.mark.parametrize(
    ("address", "says"),
    [
        (
            "10.0.0.3/32 dev tun8",
            "to 10.0.0.3 (`phone`) do not enter the device `tun7`: this host has that address too",
        ),
        ("10.0.0.254/24 dev tun8", "to 10.0.0.2 (`router`) do not enter the device `tun7`: this host sends them from"),
    ],
)
def test_an_address_clash_with_the_host_is_refused(tmp_path: Path, address: str, says: str) -> None:
    """Another device of the host, which stands before the one that is given."""
    (tmp_path / "wire.toml").write_text(SCENARIO, encoding="utf-8")
    run = f"{sys.executable} -m lasthop live {tmp_path}/wire.toml --out {tmp_path}/out"
    run += " --device server=tun7 --in phone='sleep 0.1'"
    devices = "; ".join(f"ip tuntap add mode tun name {name}; ip link set {name} up" for name in ("tun7", "tun8"))
    steps = f"{devices}; ip addr add 10.0.0.1/8 dev tun7; ip addr add {address}; {run}"
    words = ["unshare", "-rn", "sh", "-c", steps]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert says in " ".join(done.stderr.split()), done.stderr
    assert "leave `--device` out" in done.stderr
    assert not (tmp_path / "out").exists()


@unshared
def test_a_device_without_a_route_to_other_nodes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wire.toml").write_text(SCENARIO, encoding="utf-8")
    run = f"{sys.executable} -m lasthop live {tmp_path}/wire.toml --out {tmp_path}/out --device server=tun7"
    steps = f"ip tuntap add mode tun name tun7; ip link set tun7 up; ip addr add 10.0.0.1/32 dev tun7; {run}"
    words = ["unshare", "-rn", "sh", "-c", steps]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "this host has no route" in done.stderr, done.stderr
    assert "with the prefix length 8" in done.stderr


@namespaces
def test_a_name_server_outside_is_refused_at_once(tmp_path: Path) -> None:
    """Its address is in 10.0.0.0/8, where the namespace has a route."""
    ask = (
        'import socket;s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM);s.connect(("10.255.255.53",53));s.send(b"?")\n'
        "try: s.recv(9)\nexcept OSError as e: print(e.strerror)"
    )
    done = live(tmp_path, "--in", f"server={python(ask)}")
    assert done.stdout.split("\n")[0] == "Connection refused", done.stdout + done.stderr


@namespaces
def test_a_shell_runs_in_the_node_and_its_flows_are_explained(tmp_path: Path) -> None:
    (tmp_path / "wire.toml").write_text(SCENARIO, encoding="utf-8")
    out = tmp_path / "out"
    words = [sys.executable, "-m", "lasthop", "live", str(tmp_path / "wire.toml"), "--late-limit", "1 s"]
    words += ["--in", f"server={python(SERVE)}", "--shell", "phone", "--set", "output.explain=true", "--out", str(out)]
    typed = f"{python(FETCH)}\nexit 3\n"
    shell = {**os.environ, "SHELL": "/bin/sh"}
    done = subprocess.run(words, input=typed, env=shell, capture_output=True, text=True, timeout=60, check=False)
    # What a shell ends with is not a failure of the run.
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("200000\n"), done.stdout
    words = [sys.executable, "-m", "lasthop", "explain", str(out)]
    explained = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "tcp/10.0.0.1:7000>10.0.0.3:" in explained
    assert "l1.forward" in explained


#: Sends 40,000 datagrams to the phone when the file `go` is there, and then makes `done`. Then it
#: sends datagrams to the router until one is refused: by then those have entered that were in
#: the device before it. Their number is in `probes`.
FLOOD = """
import pathlib, socket, sys, time
folder = pathlib.Path(sys.argv[1])
phone, router = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
phone.connect(("10.0.0.3", 9))
router.connect(("10.0.0.2", 9))
router.settimeout(1)
print("on", flush=True)
while not (folder / "go").exists():
    time.sleep(0.01)
for n in range(40000):
    phone.send(n.to_bytes(4, "big"))
(folder / "done").touch()
probes = 0
while True:
    probes += 1
    router.send(b"?")
    try:
        router.recv(9)
    except TimeoutError:
        continue
    except ConnectionRefusedError:
        break
(folder / "part").write_text(str(probes))
(folder / "part").rename(folder / "probes")
"""


def _flood(tmp_path: Path, words: list[str], ready: str) -> None:
    """A run that is stopped while the datagrams enter its device, and ends after that."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == f"{ready}\n"
        run.send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        (tmp_path / "go").touch()
        while not (tmp_path / "done").exists():
            time.sleep(0.01)
        (tmp_path / "for").write_text(str(time.monotonic() - stopped))
        run.send_signal(signal.SIGCONT)
        while not (tmp_path / "probes").exists():
            time.sleep(0.01)
        run.send_signal(signal.SIGTERM)
        run.communicate()


def _sent(tmp_path: Path) -> int:
    return 40_000 + int((tmp_path / "probes").read_text())


@namespaces
def test_every_packet_of_a_flood_enters_or_is_counted_as_lost(tmp_path: Path) -> None:
    (tmp_path / "wire.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "flood.py").write_text(FLOOD, encoding="utf-8")
    out = tmp_path / "out"
    # Without IPv6 the kernel sends nothing of its own into the device.
    command = f"echo 1 > /proc/sys/net/ipv6/conf/lasthop0/disable_ipv6; exec {sys.executable} {tmp_path}/flood.py"
    words = [sys.executable, "-m", "lasthop", "live", str(tmp_path / "wire.toml"), "--out", str(out), "--in"]
    words += [f"server={command} {tmp_path}", "--late-limit", "1 ms"]
    _flood(tmp_path, words, "on")
    results = Results.load(out)
    measured = results.summary["live"]
    entered = sum(f["tx_packets"] for f in results.flows.to_pylist() if f["src"] == "server")
    lost = measured["lost_before_entry"]["server"]
    # A TUN device holds 500 packets.
    assert lost > 0
    # What the kernel sent to groups before IPv6 was off has entered, and belongs to no flow.
    assert entered + lost == _sent(tmp_path)
    # The packets waited in the device from some time in the standstill on, and at most since its
    # beginning: the bound covers all of it.
    standstill = float((tmp_path / "for").read_text())
    assert measured["lateness"]["entries"]["max_s"] >= standstill
    assert measured["lateness"]["behind_limit_s"] > 0


@unshared
def test_losses_of_a_device_that_was_given_are_counted(tmp_path: Path) -> None:
    (tmp_path / "wire.toml").write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "flood.py").write_text(FLOOD, encoding="utf-8")
    run = f"exec {sys.executable} -m lasthop live {tmp_path}/wire.toml --out {tmp_path}/out --device server=tun7"
    run += " --late-limit '1 ms' --in phone='sleep 0.5; echo up; exec sleep 60'"
    # Losses from before the run do not count: the device has no owner then, and drops everything.
    steps = "ip link set lo up; ip tuntap add mode tun name tun7; ip link set tun7 up"
    steps += "; echo 1 > /proc/sys/net/ipv6/conf/tun7/disable_ipv6; ip addr add 10.0.0.1/8 dev tun7"
    steps += f"; {sys.executable} {tmp_path}/flood.py {tmp_path} >/dev/null & {run}"
    _flood(tmp_path, ["unshare", "-rn", "sh", "-c", steps], "up")
    results = Results.load(tmp_path / "out")
    lost = results.summary["live"]["lost_before_entry"]
    entered = sum(f["tx_packets"] for f in results.flows.to_pylist() if f["src"] == "server")
    assert lost["server"] > 0
    # Without IPv6 the host sends nothing of its own into the device; to groups sends the phone.
    assert entered + lost["server"] == _sent(tmp_path)


@namespaces
def test_left_out_flows_are_named_with_their_external_ends(tmp_path: Path) -> None:
    flows = """
[flow.down]
from = "server"
to = "phone"
[flow.other]
from = "server"
to = "router"
"""
    (tmp_path / "both.toml").write_text(SCENARIO + flows, encoding="utf-8")
    words = [sys.executable, "-m", "lasthop", "live", str(tmp_path / "both.toml"), "--late-limit", "60 s"]
    words += ["--in", "server=sleep 30", "--in", "phone=true", "--out", str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert "flow down is left out: server and phone are external" in " ".join(done.stderr.split()), done.stderr
    assert "flow other is left out: server is external" in " ".join(done.stderr.split())


@namespaces
def test_a_run_that_lasts_to_its_end_names_the_program_that_it_waits_for(tmp_path: Path) -> None:
    done = live(tmp_path, "--in", "server=true", "--in", "phone=exec sleep 478", "--duration", "2 s")
    assert done.returncode == 0, done.stderr
    assert "phone has not ended: exec sleep 478" in " ".join(done.stderr.split())


def _running(*words: str) -> bool:
    return subprocess.run(["pgrep", "-fx", " ".join(words)], stdout=subprocess.DEVNULL, check=False).returncode == 0


def test_a_plain_run_refuses_an_external_node(tmp_path: Path) -> None:
    (tmp_path / "wire.toml").write_text(SCENARIO + '[node.phone]\nkind = "external"\n', encoding="utf-8")
    words = [sys.executable, "-m", "lasthop", "run", str(tmp_path / "wire.toml"), "--out", str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "lasthop live" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--in", "nobody=true"), "nobody"),
        (("--in", "phone"), "NODE=..."),
        (("--late-limit", "soon", "--in", "phone=true"), "soon"),
        (("--late-limit", "inf ms", "--in", "phone=true"), "inf ms"),
        (("--late-limit", "-1 ms", "--in", "phone=true"), "-1 ms"),
        (("--duration", "long", "--in", "phone=true"), "duration"),
        (("--in", 'pho"ne=true'), 'pho"ne'),
        (("--shell", "nowhere"), "nowhere"),
        (("--device", "phone=lasthop-no-dev"), "there is none"),
        (("--device", "phone=lo"), "it is no TUN device"),
        (("--device", "phone=a", "--device", "server=a"), "share"),
        (("--device", "phone=lasthop-no-dev", "--in", "phone=true"), "device"),
        ((), "external"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, args: tuple[str, ...], says: str) -> None:
    done = live(tmp_path, *args, "--out", str(tmp_path / "out"))
    assert done.returncode in (1, 2), done.stderr
    assert says in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr


@namespaces
def test_two_devices_of_one_host_are_mentioned(tmp_path: Path) -> None:
    note = "server and phone are devices of one host"
    two = live(tmp_path, "--device", "server=lasthop-no-a", "--device", "phone=lasthop-no-b")
    assert note in two.stderr
    assert "give --device for one node only" in " ".join(two.stderr.split())
    one = live(tmp_path, "--device", "server=lasthop-no-a")
    assert "devices of one host" not in one.stderr
