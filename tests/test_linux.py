"""`lasthop linux`: the kernel's sources, settings and cache. What needs a kernel runs where one is in the cache."""

from __future__ import annotations

import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lasthop import LasthopError
from lasthop.linux import CONTROLS, _boot, _build, _edits

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux on x86-64")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The places in the sources that are edited, as Linux 6.1 has them."""
    for edit in _edits.edits(0):
        path = tmp_path / edit.file
        path.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "arch/um/Kconfig").write_text("config HZ\n\tint\n\tdefault 100\n\nconfig X86\n")
    (tmp_path / "arch/x86/um/user-offsets.c").write_text("\tDEFINE_LONGS(HOST_FP_SIZE, 2696);\n")
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
    # SplitMix64 from 0: e220a8397b1dcdaf, 6e789e6aa1b965f4, 06c45d188009454f, f88bb8a8724c81ec (S. Vigna's
    # splitmix64.c prints these); the top octets.
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
    (folder / "manifest.json").write_text(json.dumps({"kernel_sha256": _build._sha256(kernel), "linux": "6.1"}))
    assert _build.find().manifest["linux"] == "6.1"
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
def test_ctrl_c_asks_the_guest_and_leaves_nothing(tmp_path: Path) -> None:
    kernel = fake(tmp_path, f"while [ ! -e {tmp_path}/stop ]; do sleep 0.05; done; echo well > {tmp_path}/ended")

    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        _boot.boot(kernel, ["true"], watch=press, stop=(tmp_path / "stop").touch)
    assert (tmp_path / "ended").read_text() == "well\n"


@LINUX
def test_the_kernel_in_the_cache_boots_with_every_control() -> None:
    try:
        kernel = _build.find()
    except LasthopError:
        pytest.skip("no kernel in the cache: `lasthop linux build`")
    assert _build.check_boot(kernel.path) == sorted(CONTROLS)
