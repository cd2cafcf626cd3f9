"""The store: what is whole is found again, what is not is named, set aside and made again."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lasthop import LasthopError
from lasthop.campaign import store as module
from lasthop.campaign.store import Entry, LostError, Store, default_path, engine, run_key


def key(n: int) -> str:
    return run_key(f"scenario {n}")


def entries(n: int, *, table: bytes | None = None) -> list[Entry]:
    found = [Entry("m1", "goodput", n + 0.5), Entry("m2", "delay", None, "no packet has arrived")]
    return found if table is None else [*found, Entry("table flows", "flows", content=table)]


def filled(path: Path, runs: range = range(4), *, each_alone: bool = False) -> Path:
    """A store with some runs, in one file or in one each."""
    with Store(path) as store:
        for n in runs:
            store.put(key(n), entries(n))
            if each_alone:
                store.flush()
        store.flush()
    return path


def files(path: Path) -> list[Path]:
    return sorted(path.glob("runs/*/*/*"))


def known(path: Path, runs: range = range(4)) -> list[int]:
    """Which of these runs a store has, with all that was put in."""
    with Store(path) as store:
        found = []
        for n in runs:
            got = store.get(key(n), ["m1", "m2"])
            if got:
                assert got == {"m1": entries(n)[0], "m2": entries(n)[1]}
                found.append(n)
        return found


def test_runs_are_found_by_a_later_store(tmp_path: Path) -> None:
    filled(tmp_path / "s")
    assert known(tmp_path / "s") == [0, 1, 2, 3]
    assert known(tmp_path / "other") == []
    assert not (tmp_path / "other").exists()  # reading makes no folder


def test_only_what_is_asked_for_is_given_and_what_is_not_there_is_left_out(tmp_path: Path) -> None:
    with Store(filled(tmp_path / "s")) as store:
        assert set(store.get(key(1), ["m2", "m9"])) == {"m2"}
        assert store.get(key(9), ["m1"]) == {}


def test_a_run_is_found_before_its_file_is_written(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.put(key(1), entries(1, table=b"rows"))
        assert set(store.get(key(1), ["m1", "table flows"])) == {"m1", "table flows"}
        assert store.content(key(1), "table flows") == b"rows"
        assert files(tmp_path) == []


def test_a_later_measure_of_a_known_run_joins_the_earlier_ones(tmp_path: Path) -> None:
    filled(tmp_path)
    with Store(tmp_path) as store:
        store.put(key(1), [Entry("m3", "loss", 0.25)])
        store.flush()
    with Store(tmp_path) as store:
        assert {i: e.value for i, e in store.get(key(1), ["m1", "m3"]).items()} == {"m1": 1.5, "m3": 0.25}


def test_work_is_written_when_a_kill_would_cost_too_much_of_it(tmp_path: Path) -> None:
    with Store(tmp_path, workers=2) as store:
        store.put(key(0), entries(0), cost_s=1.9 * module.UNSAVED_S)
        assert files(tmp_path) == []
        store.put(key(1), entries(1), cost_s=0.2 * module.UNSAVED_S)
        assert len(files(tmp_path)) == 1
        store.put(key(2), entries(2, table=bytes(module.UNSAVED_OCTETS)))
        assert len(files(tmp_path)) == 2


def test_tables_come_back_from_their_files_and_from_under_an_index(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for n in range(3):
            store.put(key(n), entries(n, table=b"rows of %d" % n))
            if n == 1:
                store.flush()
                assert store.content(key(0), "table flows") == b"rows of 0"
        store.flush()
        store.index()
    with Store(tmp_path) as store:
        assert [store.content(key(n), "table flows") for n in (2, 0, 1)] == [b"rows of 2", b"rows of 0", b"rows of 1"]
        with pytest.raises(LasthopError, match="has lost a table of the run"):
            store.content(key(7), "table flows")


def test_a_file_is_named_by_its_content(tmp_path: Path) -> None:
    filled(tmp_path / "a")
    filled(tmp_path / "b")
    (one,), (other,) = files(tmp_path / "a"), files(tmp_path / "b")
    assert one.relative_to(tmp_path / "a") == other.relative_to(tmp_path / "b")
    assert one.read_bytes() == other.read_bytes()
    assert one.parent.parent.name == engine()
    assert pq.read_table(one).column("name").to_pylist()[:2] == ["goodput", "delay"]


@pytest.mark.parametrize("cut", [0, 1, 100, -1])
@pytest.mark.parametrize("indexed", [False, True])
def test_a_truncated_file_is_named_set_aside_and_its_runs_alone_are_missing(
    tmp_path: Path, cut: int, indexed: bool
) -> None:
    filled(tmp_path, each_alone=True)
    if indexed:
        with Store(tmp_path) as store:
            assert store.index() == (4, 8)
    hurt = files(tmp_path)[2]
    lost = int(float(pq.read_table(hurt).column("value")[0].as_py()))
    hurt.write_bytes(hurt.read_bytes()[:cut])
    with Store(tmp_path) as store:
        (note,) = store.notes
        assert str(hurt) in note
        assert "its runs are made again" in note
    assert known(tmp_path) == [n for n in range(4) if n != lost]
    assert (tmp_path / "damaged" / hurt.name).exists()
    filled(tmp_path, range(lost, lost + 1))  # made again: the same file
    assert hurt.exists()
    assert known(tmp_path) == [0, 1, 2, 3]


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    filled(tmp_path)
    (file,) = files(tmp_path)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert known(tmp_path) == []
    assert len(list((tmp_path / "damaged").iterdir())) == 1


def test_a_whole_file_of_another_kind_is_set_aside_too(tmp_path: Path) -> None:
    folder = filled(tmp_path) / "runs" / engine() / "00"
    folder.mkdir(parents=True, exist_ok=True)  # names of the other files depend on the build
    content = b"not a table"
    (folder / f"{module._digest(content)}.parquet").write_bytes(content)
    with Store(tmp_path) as store:
        assert "not of this version" in store.notes[0]
    assert known(tmp_path) == [0, 1, 2, 3]


def test_a_full_disk_is_an_error_with_a_remedy_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, range(2))
    written = os.write

    def full(file: int, content: bytes) -> int:
        if len(content) > 100:
            return written(file, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Store(tmp_path) as store:
        store.put(key(2), entries(2))
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(LasthopError, match=r"No space left(?s:.)*help: once there is space"):
            store.flush()
        monkeypatch.undo()
    assert len(files(tmp_path)) == 1  # no unfinished file
    assert known(tmp_path, range(3)) == [0, 1]


def test_a_store_that_may_not_be_written_is_an_error_with_another_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with Store(tmp_path) as store:
        store.put(key(2), entries(2))
        monkeypatch.setattr(os, "write", refuse)
        with pytest.raises(LasthopError, match=r"Read-only file system(?s:.)*help: name a store that you may write"):
            store.flush()


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that is full: /dev/full is Linux'")
def test_a_full_disk_for_the_index_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, range(module._WORTH_INDEXING), each_alone=True)

    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module, "_sync", full)
    with Store(tmp_path) as store:
        assert "no index was written" in store.notes[0]
        assert len(store.get(key(5), ["m1", "m2"])) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["runs"]


def test_the_index_is_a_cache(tmp_path: Path) -> None:
    filled(tmp_path, each_alone=True)
    with Store(tmp_path) as store:
        assert store.index() == (4, 8)
    filled(tmp_path, range(4, 6))
    assert known(tmp_path, range(6)) == list(range(6))  # with two runs that it does not cover
    (tmp_path / "index.sqlite").write_bytes(b"SQLite format 3\0 and then something else" * 100)
    with Store(tmp_path) as store:
        assert "index.sqlite' cannot be read" in store.notes[0]
        assert len(store.get(key(5), ["m1", "m2"])) == 2
        assert store.index() == (5, 12)
    (tmp_path / "index.sqlite").unlink()
    assert known(tmp_path, range(6)) == list(range(6))


def test_a_damaged_page_of_the_index_is_noted_and_the_files_are_read(tmp_path: Path) -> None:
    """SQLite meets it only when it reads that page.

    It is behind the header and the names of the tables, in the entries.
    """
    key = "ab" * 32
    with Store(tmp_path) as store:
        store.put(key, [Entry("m", "m", 1.5), Entry("t", "table", content=b"x")])
        store.flush()
        assert store.index() == (1, 2)
    index = tmp_path / "index.sqlite"
    page = 4096
    with closing(sqlite3.connect(index)) as base:
        (root,) = base.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entries'").fetchone()
    content = bytearray(index.read_bytes())
    content[(root - 1) * page : root * page] = b"\xff" * page
    asks: list[Callable[[Store], bool]] = [
        lambda store: store.get(key, ["m"])["m"].value == 1.5,
        lambda store: store.content(key, "t") == b"x",
    ]
    for ask in asks:
        index.write_bytes(bytes(content))
        with Store(tmp_path) as store:
            assert store.notes == []
            assert ask(store)
            assert "index.sqlite' cannot be read" in store.notes[0]


@pytest.mark.parametrize(
    "altered",
    [
        "UPDATE entries SET value = 999",
        "UPDATE entries SET value = 'a text' WHERE value IS NOT NULL",
        "UPDATE entries SET reason = 'another' WHERE reason IS NOT NULL",
        "UPDATE entries SET reason = NULL, value = 3.0 WHERE reason IS NOT NULL",
        "UPDATE items SET item = CASE item WHEN 'm1' THEN 'm2' ELSE 'm1' END || item",
        "UPDATE items SET name = 'loss' WHERE item = 'm1'",
        "UPDATE entries SET digest = x'0011223344556677'",
    ],
)
def test_an_altered_value_in_the_index_is_no_result(tmp_path: Path, altered: str) -> None:
    filled(tmp_path)
    with Store(tmp_path) as store:
        store.index()
    index = tmp_path / "index.sqlite"
    with closing(sqlite3.connect(index)) as base:
        base.execute(altered)
        base.commit()
    assert known(tmp_path) == [0, 1, 2, 3]
    with Store(tmp_path) as store:  # the index was made anew
        assert store.get(key(1), ["m1", "m2"]) == {"m1": entries(1)[0], "m2": entries(1)[1]}
        assert store.notes == []


def test_an_altered_index_is_named(tmp_path: Path) -> None:
    filled(tmp_path)
    with Store(tmp_path) as store:
        store.index()
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as base:
        base.execute("UPDATE entries SET value = 999")
        base.commit()
    with Store(tmp_path) as store:
        assert store.get(key(1), ["m1"])["m1"].value == 1.5
        assert "index.sqlite' cannot be read (an entry was altered): files are read instead" in store.notes[0]


def test_runs_of_a_file_that_is_found_damaged_are_not_found_any_more(tmp_path: Path) -> None:
    """Its size and time are those that the index knows: only its content says so."""
    with Store(tmp_path) as store:
        store.put(key(0), entries(0, table=b"rows of 0"))
        store.flush()
        store.index()
    (hurt,) = files(tmp_path)
    content, times = bytearray(hurt.read_bytes()), hurt.stat().st_mtime_ns
    content[content.index(b"rows of 0")] ^= 1
    hurt.write_bytes(content)
    os.utime(hurt, ns=(times, times))
    with Store(tmp_path) as store:
        assert store.get(key(0), ["m1"]) == {"m1": entries(0)[0]}
        with pytest.raises(LostError, match="has lost a table"):
            store.content(key(0), "table flows")
        assert store.get(key(0), ["m1"]) == {}
        assert str(hurt) in store.notes[0]


def test_a_store_without_a_name_is_refused() -> None:
    with pytest.raises(LasthopError, match="the store's folder has no name"):
        Store("")


def test_an_index_is_read_and_not_the_files_that_it_covers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)
    with Store(tmp_path) as store:
        store.index()
    monkeypatch.setattr(Store, "_read", lambda *_: pytest.fail("a file was read"))
    assert known(tmp_path) == [0, 1, 2, 3]


def test_many_files_get_an_index_by_themselves_and_a_new_one_for_many_new_files(tmp_path: Path) -> None:
    count = module._WORTH_INDEXING
    filled(tmp_path, range(count), each_alone=True)
    assert known(tmp_path, range(count)) == list(range(count))
    first = (tmp_path / "index.sqlite").stat().st_mtime_ns
    filled(tmp_path, range(count, 2 * count), each_alone=True)
    assert known(tmp_path, range(2 * count)) == list(range(2 * count))
    assert (tmp_path / "index.sqlite").stat().st_mtime_ns != first
    assert known(tmp_path, range(2 * count)) == list(range(2 * count))


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs a user whom permissions stop")
def test_a_store_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "runs").chmod(0)
    try:
        with pytest.raises(LasthopError, match="cannot read the store's folder"):
            Store(tmp_path)
    finally:
        (tmp_path / "runs").chmod(0o755)


def test_a_file_instead_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    with pytest.raises(LasthopError, match="is no folder"):
        Store(tmp_path / "s")


def test_what_killed_processes_left_is_removed_and_what_others_write_stays(tmp_path: Path) -> None:
    folder = files(filled(tmp_path))[0].parent
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    old = time.time() - 120
    names = {
        "dead": f"{'a' * 40}.{module._host()}.{ended.pid}.0123.partial",
        "alive": f"{'a' * 40}.{module._host()}.{os.getpid()}.0123.partial",
        "elsewhere": f"{'a' * 40}.another-machine.{ended.pid}.0123.partial",
        "young": f"{'b' * 40}.{module._host()}.{ended.pid}.0123.partial",
        "foreign": "notes.txt",
    }
    for what, name in names.items():
        (folder / name).write_text("half")
        if what != "young":
            os.utime(folder / name, (old, old))
    index = tmp_path / f"index.{module._host()}.{ended.pid}.0123.partial"
    index.write_text("half")
    os.utime(index, (old, old))
    with Store(tmp_path) as store:
        assert len(store.notes) == 2
        assert all("which a killed process had not finished" in note for note in store.notes)
    left = {path.name for path in folder.iterdir()}
    assert names["dead"] not in left
    assert {names["alive"], names["elsewhere"], names["young"], names["foreign"]} <= left
    assert not index.exists()
    yesterday = time.time() - 2 * 86_400
    os.utime(folder / names["elsewhere"], (yesterday, yesterday))
    Store(tmp_path).close()
    assert not (folder / names["elsewhere"]).exists()


def test_pruning_by_age_and_by_size_begins_with_the_oldest(tmp_path: Path) -> None:
    filled(tmp_path, range(6), each_alone=True)
    now = time.time()
    age = {}
    for path in files(tmp_path):
        n = int(float(pq.read_table(path).column("value")[0].as_py()))
        age[n] = path
        os.utime(path, (now - 100 * n, now - 100 * n))
    with Store(tmp_path) as store:
        store.index()
        gone = store.prune(older_than_s=450)
        assert (gone.files, gone.files_left) == (1, 5)
    assert known(tmp_path, range(6)) == [0, 1, 2, 3, 4]
    room = sum(age[n].stat().st_size for n in range(2))
    with Store(tmp_path) as store:
        gone = store.prune(larger_than=room)
        assert (gone.files, gone.files_left, gone.octets_left) == (3, 2, room)
    assert known(tmp_path, range(6)) == [0, 1]
    with Store(tmp_path) as store:
        assert store.prune(larger_than=0).files_left == 0
        with pytest.raises(LasthopError, match="nothing says what to remove"):
            store.prune()
        with pytest.raises(LasthopError, match="below 0"):
            store.prune(older_than_s=-1)


def test_a_file_that_another_process_prunes_is_missed_by_nobody(tmp_path: Path) -> None:
    filled(tmp_path, each_alone=True)
    with Store(tmp_path) as store:
        store.index()
    files(tmp_path)[0].unlink()  # the index still covers it
    assert len(known(tmp_path)) == 3


WRITER = """
import sys
from lasthop.campaign.store import Entry, LostError, Store, run_key
with Store(sys.argv[1]) as store:
    for n in range(int(sys.argv[2]), int(sys.argv[3])):
        store.put(run_key(f"scenario {n}"), [Entry("m1", "goodput", n + 0.5), Entry("m2", "delay", None,
                  "no packet has arrived")])
        store.flush()
        if n % 10 == 0:
            store.index()
"""


def test_processes_write_and_index_at_once(tmp_path: Path) -> None:
    """Their runs overlap, as those of two campaigns or two machines do."""
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    parts = [(0, 40), (20, 60), (20, 60)]
    running = [subprocess.Popen([*command, str(a), str(b)]) for a, b in parts]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert known(tmp_path, range(60)) == list(range(60))
    assert len(files(tmp_path)) == 60  # equal runs make equal files
    with Store(tmp_path) as store:
        assert store.notes == []
        assert store.index() == (60, 120)


def test_stores_of_two_machines_are_merged_by_copying(tmp_path: Path) -> None:
    filled(tmp_path / "a", range(3))
    filled(tmp_path / "b", range(2, 5))
    shutil.copytree(tmp_path / "b", tmp_path / "a", dirs_exist_ok=True)
    assert known(tmp_path / "a", range(5)) == list(range(5))


def test_a_folder_without_locks_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the store nor SQLite asks for a lock, as `flock` and `fcntl` with F_SETLK do."""
    if sys.platform != "linux" or shutil.which("strace") is None:
        pytest.skip("strace shows what is asked for; it is not installed")
    filled(tmp_path)
    code = f"from lasthop.campaign.store import Store; s = Store({str(tmp_path)!r}); print(s.index())"
    trace = tmp_path / "trace"
    done = subprocess.run(
        ["strace", "-f", "-e", "trace=fcntl,flock", "-o", trace, sys.executable, "-c", code + "; Store(s.path)"],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        pytest.skip(f"strace cannot be used here: {done.stderr[:200]}")
    assert "(1, 8)" in done.stdout
    asked = [
        line for line in trace.read_text().splitlines() if "F_SETLK" in line or "F_OFD" in line or "flock(" in line
    ]
    assert asked == []


def test_the_default_store_and_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LASTHOP_STORE", raising=False)
    assert default_path() == Path("results/store")
    monkeypatch.setenv("LASTHOP_STORE", "/somewhere")
    assert default_path() == Path("/somewhere")


def test_a_key_holds_scenario_code_and_build(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {run_key("a"), run_key("b"), run_key("a", "own code"), run_key("a", "")}
    assert len(keys) == 3
    before = run_key("a")
    monkeypatch.setattr(module, "engine", lambda: "another build")
    assert run_key("a") != before
