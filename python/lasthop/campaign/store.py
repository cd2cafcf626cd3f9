"""Finished runs on disk, by content: later campaigns find the runs that an earlier one made.

    STORE/runs/ENGINE/XX/NAME.parquet   some finished runs:
                                        rows (run, item, name, value, reason, content)
    STORE/damaged/                      damaged files
    STORE/index.sqlite                  a cache of the rows; `Store.index` makes it anew

Only the files count. NAME is the digest of the file's content, XX its first two characters. A file
is written under another name in the same folder, flushed to the disk (`fsync` of the file, then of
the folder) and renamed, and is never changed. So two processes or two machines never write one name
with different contents, and no lock is needed. A file whose digest is not its name is damaged: it
is listed in `Store.notes` and moved to `damaged`, and its runs are made again.

The index is written in the same way and never modified. Readers open it with SQLite's
`immutable=1`, which takes no lock (https://www.sqlite.org/uri.html), so it is safe where a file
system has none. It covers files by name, size and time of change; those that it does not cover are
read. Each entry in it has a digest, which is checked when the entry is used. If a value was
altered, it is not used, and the index is made anew.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import secrets
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lasthop import _core
from lasthop._core import LasthopError
from lasthop._errors import mistake

#: Names the store where neither a flag nor an argument does.
VARIABLE = "LASTHOP_STORE"
#: The store where nothing names one.
DEFAULT = Path("results") / "store"

#: Work that a kill may cost: runs are written when so much of it waits [s of processor time, for
#: each worker].
UNSAVED_S = 2.0
#: ... or so many octets of kept tables.
UNSAVED_OCTETS = 32_000_000
#: So many files that the index does not cover are worth a new index.
_WORTH_INDEXING = 64
#: Unfinished files of other machines are of killed processes after this time [s], those of this
#: machine after this.
_STALE_ELSEWHERE_S = 86_400.0
_STALE_HERE_S = 60.0

_SCHEMA = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("item", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("value", pa.float64()),
        pa.field("reason", pa.string()),
        pa.field("content", pa.large_binary()),
    ],
    metadata={"lasthop_store": "1"},
)
_NAME = re.compile(r"[0-9a-f]{40}\.parquet\Z")
_PARTIAL = re.compile(r"(?:[0-9a-f]{40}|index)\.(?P<host>[A-Za-z0-9_-]*)\.(?P<process>\d+)\.[0-9a-f]+\.partial\Z")
_TABLES = """
    CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, size INTEGER NOT NULL,
                        time INTEGER NOT NULL);
    CREATE TABLE items (id INTEGER PRIMARY KEY, item TEXT UNIQUE NOT NULL, name TEXT NOT NULL);
    CREATE TABLE entries (run BLOB NOT NULL, item INTEGER NOT NULL, value REAL, reason TEXT, file INTEGER NOT NULL,
                          digest BLOB NOT NULL, PRIMARY KEY (run, item)) WITHOUT ROWID;
"""
#: Changes with the tables: an index of another version is made anew.
_INDEX_VERSION = 2


class Entry(NamedTuple):
    """What the store has of a run under one item.

    The item is the identity of a measure, or of a table that is kept.
    """

    item: str
    #: What people call the item.
    name: str
    value: float | None = None
    #: Why there is no value.
    reason: str | None = None
    #: A kept table in Arrow's IPC format. `get` leaves it out, `content` reads it.
    content: bytes | None = None


@dataclass(frozen=True)
class Pruned:
    """What `prune` has removed, and what is left."""

    files: int
    octets: int
    files_left: int
    octets_left: int


@lru_cache(maxsize=1)
def engine() -> str:
    """Digest of the extension module: the build that makes the runs."""
    return _digest(Path(_core.__file__).read_bytes())


def run_key(scenario_hash: str, code: str = "") -> str:
    """The key of a run: a digest of all that its tables depend on, as 64 hex digits.

    Args:
        scenario_hash: `Scenario.hash`: effective scenario with seed, files that it reads, versions
            of own policies.
        code: digest of own policies in Python and what they import, or empty.
    """
    hasher = hashlib.blake2b(digest_size=32)
    for part in (scenario_hash, engine(), code):
        hasher.update(part.encode() + b"\0")
    return hasher.hexdigest()


def default_path() -> Path:
    """The default store: that of LASTHOP_STORE, or `results/store` in the current folder."""
    named = os.environ.get(VARIABLE, "")
    return Path(named) if named else DEFAULT


class LostError(LasthopError):
    """An entry that the store had at the look-up is no longer there."""


class Store:
    """The finished runs of this build in a folder, which is made when the first run is written.

        store = Store("results/store")
        store.get(key, items)
        store.put(key, entries, cost_s=0.3)
        store.flush()

    One thread at a time uses a store. Any number of processes, on any number of machines, may use
    its folder.

    Args:
        path: the folder; None: that of `default_path`.
        workers: number of workers that make runs for the store: `put` writes a file when the
            unwritten runs have taken `UNSAVED_S` seconds of work for each worker.

    Raises:
        LasthopError: the folder cannot be read, or its name is empty.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, workers: int = 1) -> None:
        self.path = default_path() if path is None else Path(path)
        self.workers = workers
        #: What was repaired or set aside, in sentences.
        self.notes: list[str] = []
        self._waiting: dict[str, list[Entry]] = {}
        self._cost = 0.0
        self._octets = 0
        #: Numbers of files in the index whose entries do not count.
        self._gone: set[int] = set()
        self._last: tuple[str, dict[tuple[str, str], bytes]] = ("", {})
        self._index: sqlite3.Connection | None = None
        self._fresh: sqlite3.Connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._fresh.executescript(_TABLES)
        if path is not None and not os.fspath(path):
            raise mistake("the store's folder has no name", f"name one with --store or {VARIABLE}, or leave it out")
        if self.path.exists() and not self.path.is_dir():
            raise mistake(f"the store '{self.path}' is no folder", "name another one with --store or " + VARIABLE)
        self._open()

    # ------------------------------------------------------------------ reading

    def get(self, run: str, items: Sequence[str]) -> dict[str, Entry]:
        """What is known of a run: the entries among `items` that the store has.

        The entries are without contents.
        """
        try:
            return self._get(run, items)
        except sqlite3.DatabaseError as error:
            self._leave_index(error)
            return self._get(run, items)

    def _get(self, run: str, items: Sequence[str]) -> dict[str, Entry]:
        found = {e.item: e._replace(content=None) for e in self._waiting.get(run, ()) if e.item in items}
        key = bytes.fromhex(run)
        for base, gone in ((self._fresh, frozenset[int]()), (self._index, self._gone)):
            if base is None:
                continue
            for item, name, value, reason, file, digest in base.execute(_LOOK_UP, (key,)):
                if base is self._index and digest != _mark(key, item, name, value, reason):
                    raise sqlite3.DatabaseError("an entry was altered")
                if item in items and item not in found and file not in gone:
                    found[item] = Entry(item, name, value, reason)
        return found

    def content(self, run: str, item: str) -> bytes:
        """The content of an entry: a kept table.

        Raises:
            LostError: the entry is no longer there, or its file is damaged; then the file is moved
                to `damaged`, and `get` does not find its runs.
        """
        for entry in self._waiting.get(run, ()):
            if entry.item == item and entry.content is not None:
                return entry.content
        try:
            paths = self._paths(run, item)
        except sqlite3.DatabaseError as error:
            self._leave_index(error)
            paths = self._paths(run, item)
        for path in paths:
            found = self._contents(path).get((run, item))
            if found is not None:
                return found
        raise mistake(
            f"the store '{self.path}' has lost a table of the run {run[:16]}",
            "another process has removed it, or its file was damaged: call again, and the run is made anew",
            LostError,
        )

    def _paths(self, run: str, item: str) -> list[str]:
        """The files that have an item of a run."""
        bases = [base for base in (self._fresh, self._index) if base is not None]
        return [path for base in bases for (path,) in base.execute(_WHERE, (bytes.fromhex(run), item))]

    def _drop(self, path: str) -> None:
        """A file is not whole, or not there any more: `get` finds nothing in it."""
        _remove(self._fresh, path)
        if self._index is not None:
            with suppress(sqlite3.DatabaseError):  # `get` notices that
                found = self._index.execute("SELECT id FROM files WHERE path = ?", (path,))
                self._gone.update(number for (number,) in found)

    def _contents(self, path: str) -> dict[tuple[str, str], bytes]:
        """The contents in a file.

        Those of the last one are kept, because neighbours are read one after the other.
        """
        if self._last[0] != path:
            table = self._read(self.path / path)
            if table is None:
                self._drop(path)
            rows = [] if table is None else table.select(["run", "item", "content"]).to_pylist()
            self._last = (path, {(r["run"], r["item"]): r["content"] for r in rows if r["content"] is not None})
        return self._last[1]

    def _open(self) -> None:
        self._index = self._open_index()
        covered: dict[str, tuple[int, int, int]] = {}
        if self._index is not None:
            try:
                rows = self._index.execute("SELECT path, id, size, time FROM files").fetchall()
                covered = {path: (number, size, when) for path, number, size, when in rows}
            except sqlite3.Error as error:
                self._forget_index(error)
        uncovered = 0
        for path, status in self._files(engine()):
            known = covered.pop(path, None)
            if known is not None and known[1:] == (status.st_size, status.st_mtime_ns):
                continue
            if known is not None:
                self._gone.add(known[0])
            uncovered += self._take(self._fresh, path, status)
        self._gone.update(number for number, _, _ in covered.values())
        if uncovered >= _WORTH_INDEXING:
            self._reindex(anew=False)

    def _files(self, engine: str = "") -> Iterator[tuple[str, os.stat_result]]:
        """Path below the store and status of each file of runs.

        What killed processes left is removed on the way.
        """
        builds = [engine] if engine else self._names("runs")
        folders = [f"runs/{build}/{part}" for build in builds for part in self._names(f"runs/{build}")]
        for folder in ["", *folders]:
            for name in self._names(folder):
                path = f"{folder}/{name}"
                with suppress(FileNotFoundError):  # another process has pruned it, or it is complete now
                    if folder and _NAME.match(name):
                        yield path, (self.path / path).stat()
                    elif (found := _PARTIAL.match(name)) is not None:
                        self._remove_stale(self.path / folder / name, found["host"], int(found["process"]))

    def _names(self, folder: str) -> list[str]:
        """What a folder of the store holds; nothing if it is not there."""
        try:
            return sorted(os.listdir(self.path / folder))  # noqa: PTH208 -- names
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise mistake(
                f"cannot read the store's folder '{self.path / folder}': {error.strerror}",
                f"name another store with --store or {VARIABLE}",
            ) from error

    def _remove_stale(self, path: Path, host: str, process: int) -> None:
        age = time.time() - path.stat().st_mtime
        if age > _STALE_ELSEWHERE_S or (age > _STALE_HERE_S and host == _host() and not _alive(process)):
            with suppress(OSError):
                path.unlink()
                self.notes.append(f"removed '{path}', which a killed process had not finished")

    def _read(self, path: Path) -> pa.Table | None:
        """The rows of a file; None where it is gone or not whole: then it is set aside."""
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self.notes.append(f"cannot read '{path}' ({error.strerror}): its runs are made again")
            return None
        if _digest(content) == path.stem:
            try:
                table = pq.read_table(pa.BufferReader(content))
                return table.select(_SCHEMA.names).cast(_SCHEMA)
            except (pa.ArrowException, KeyError, ValueError) as error:
                why = f"it is whole, but not of this version ({str(error).splitlines()[0]})"
        else:
            why = "its content is not what was written"
        aside = self.path / "damaged" / path.name
        try:
            aside.parent.mkdir(exist_ok=True)
            path.replace(aside)
            self.notes.append(f"'{path}': {why}; moved to '{aside}', its runs are made again")
        except FileNotFoundError:  # another process was quicker
            pass
        except OSError as error:
            self.notes.append(f"'{path}': {why}; it cannot be moved ({error.strerror}), its runs are made again")
        return None

    def _take(self, base: sqlite3.Connection, path: str, status: os.stat_result) -> bool:
        """Brings the rows of a file into a base; False where the file is not whole."""
        table = self._read(self.path / path)
        if table is None:
            return False
        columns = [table.column(name).to_pylist() for name in ("run", "item", "name", "value", "reason")]
        _insert(base, path, status.st_size, status.st_mtime_ns, zip(*columns, strict=True))
        return True

    # ------------------------------------------------------------------ writing

    def put(self, run: str, entries: Iterable[Entry], cost_s: float = 0.0) -> None:
        """Takes a finished run, which `get` finds at once. A file is written for several runs.

        Args:
            run: its key.
            entries: what is known of it.
            cost_s: the processor time that it took [s]; a killed process loses about `UNSAVED_S` of
                it for each worker.

        Raises:
            LasthopError: the file cannot be written, as on a full disk; then the runs that waited
                to be written are not in the store.
        """
        entries = list(entries)
        self._waiting.setdefault(run, []).extend(entries)
        self._cost += cost_s
        self._octets += sum(len(entry.content) for entry in entries if entry.content is not None)
        if self._cost >= UNSAVED_S * self.workers or self._octets >= UNSAVED_OCTETS:
            self.flush()

    def flush(self) -> None:
        """Writes the runs that wait to be written.

        Raises:
            LasthopError: they cannot be written. They are discarded, and the next call of the
                campaign makes these runs again.
        """
        waiting = [(run, entry) for run, entries in self._waiting.items() for entry in entries]
        self._waiting, self._cost, self._octets = {}, 0.0, 0
        if not waiting:
            return
        content = batch(waiting)
        name = _digest(content)
        path = self.path / "runs" / engine() / name[:2] / f"{name}.parquet"
        try:
            status = _write_whole(path, content)
        except OSError as error:
            raise mistake(
                f"cannot write finished runs to the store '{self.path}': {error.strerror or error}",
                _unwritten(error),
            ) from error
        _insert(
            self._fresh,
            path.relative_to(self.path).as_posix(),
            status.st_size,
            status.st_mtime_ns,
            ((run, *entry[:4]) for run, entry in waiting),
        )

    # ------------------------------------------------------------------ index, prune

    def index(self) -> tuple[int, int]:
        """Makes `index.sqlite` anew from the files of all builds; each file is read and checked.

        Returns:
            How many files and how many entries it covers.

        Raises:
            LasthopError: the index cannot be written.
        """
        try:
            return self._make_index(anew=True)
        except (OSError, sqlite3.Error) as error:
            raise mistake(f"cannot write '{self.path / 'index.sqlite'}': {error}") from error

    def prune(self, older_than_s: float | None = None, larger_than: int | None = None) -> Pruned:
        """Removes files of runs, of all builds, the oldest first.

        Args:
            older_than_s: files that were written longer ago [s].
            larger_than: files until the rest takes no more [octets].

        Raises:
            LasthopError: neither is given, one is negative, or a file cannot be removed.
        """
        if older_than_s is None and larger_than is None:
            raise mistake("nothing says what to remove", "give an age or a size")
        if (older_than_s or 0) < 0 or (larger_than or 0) < 0:
            raise mistake("an age or a size below 0", "give an age in seconds and a size in octets, from 0 on")
        files = [(path, status) for path, status in self._files()]
        files += [(f"damaged/{p.name}", p.stat()) for p in sorted(self.path.glob("damaged/*.parquet"))]
        files.sort(key=lambda file: file[1].st_mtime_ns)
        left = sum(status.st_size for _, status in files)
        count, octets, now = 0, 0, time.time()
        for path, status in files:
            old = older_than_s is not None and now - status.st_mtime > older_than_s
            if not old and (larger_than is None or left <= larger_than):
                continue
            try:
                (self.path / path).unlink(missing_ok=True)
            except OSError as error:
                raise mistake(f"cannot remove '{self.path / path}': {error.strerror}") from error
            count, octets, left = count + 1, octets + status.st_size, left - status.st_size
        if count and (self.path / "index.sqlite").exists():
            self._reindex(anew=True)
        return Pruned(count, octets, len(files) - count, left)

    def _reindex(self, anew: bool) -> None:
        """The index is a cache: where it cannot be written, the work continues without it."""
        try:
            self._make_index(anew)
        except (OSError, sqlite3.Error) as error:
            self.notes.append(f"no index was written ({error}): files are read instead")

    def _make_index(self, anew: bool) -> tuple[int, int]:
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / "index.sqlite"
        aside = self.path / f"index.{_host()}.{os.getpid()}.{secrets.token_hex(4)}.partial"
        try:
            # No other process uses this file: no locks, no journal; it counts when it is whole.
            with closing(
                sqlite3.connect(f"{aside.absolute().as_uri()}?nolock=1", uri=True, isolation_level=None)
            ) as base:
                base.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _TABLES)
                base.execute(f"PRAGMA user_version = {_INDEX_VERSION}")
                base.execute("BEGIN")
                known: dict[str, tuple[int, int]] = {}
                if self._index is not None and not anew:
                    known = _copied(self._index, base)
                for name, status in self._files():
                    if known.pop(name, None) != (status.st_size, status.st_mtime_ns):
                        _remove(base, name)
                        self._take(base, name, status)
                for name in known:
                    _remove(base, name)
                base.execute("COMMIT")
                counts: tuple[int, int] = base.execute(
                    "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM entries)"
                ).fetchone()
            _sync(aside)
            aside.replace(path)
            _sync(self.path)
        finally:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
        return counts

    def _leave_index(self, error: sqlite3.DatabaseError) -> None:
        """The index is damaged where it is read only now: all its files are read instead.

        Raises:
            sqlite3.DatabaseError: there is no index any more, so this is no damage of it.
        """
        if self._index is None:
            raise error
        self._index.close()
        self._forget_index(error)
        self._gone.clear()
        read = {path for (path,) in self._fresh.execute("SELECT path FROM files")}
        for path, status in self._files(engine()):
            if path not in read:
                self._take(self._fresh, path, status)
        self._reindex(anew=True)

    def _open_index(self) -> sqlite3.Connection | None:
        path = self.path / "index.sqlite"
        if not path.is_file():
            return None
        base = None
        try:
            base = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
            if base.execute("PRAGMA user_version").fetchone() == (_INDEX_VERSION,):
                return base
            base.close()
        except sqlite3.Error as error:
            if base is not None:
                base.close()
            self._forget_index(error)
        return None

    def _forget_index(self, error: sqlite3.Error) -> None:
        self._index = None
        self.notes.append(f"'{self.path / 'index.sqlite'}' cannot be read ({error}): files are read instead")

    def close(self) -> None:
        """Closes the index. Runs that wait to be written are not written."""
        for base in (self._fresh, self._index):
            if base is not None:
                base.close()

    def __del__(self) -> None:
        self.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_LOOK_UP = """SELECT i.item, i.name, e.value, e.reason, e.file, e.digest
              FROM entries e JOIN items i ON i.id = e.item WHERE e.run = ?"""
_WHERE = """SELECT f.path FROM entries e JOIN items i ON i.id = e.item JOIN files f ON f.id = e.file
            WHERE e.run = ? AND i.item = ?"""


def batch(rows: Sequence[tuple[str, Entry]]) -> bytes:
    """The content of a file of runs: the same rows give the same octets."""
    columns = [[run for run, _ in rows], *map(list, zip(*(entry for _, entry in rows), strict=True))]
    table = pa.table([pa.array(c, field.type) for c, field in zip(columns, _SCHEMA, strict=True)], schema=_SCHEMA)
    sink = io.BytesIO()
    compression = {name: "none" if name == "content" else "zstd" for name in _SCHEMA.names}
    pq.write_table(table, sink, compression=compression, use_dictionary=["run", "item", "name", "reason"])
    return sink.getvalue()


def _insert(
    base: sqlite3.Connection,
    path: str,
    size: int,
    when: int,
    rows: Iterable[tuple[str, str, str, float | None, str | None]],
) -> None:
    """Adds the entries of a file to a base."""
    base.execute("INSERT OR IGNORE INTO files (path, size, time) VALUES (?, ?, ?)", (path, size, when))
    (file,) = base.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
    items: dict[str, int] = {}
    for run, item, name, value, reason in rows:
        if item not in items:
            base.execute("INSERT OR IGNORE INTO items (item, name) VALUES (?, ?)", (item, name))
            (items[item],) = base.execute("SELECT id FROM items WHERE item = ?", (item,)).fetchone()
        base.execute(
            "INSERT OR IGNORE INTO entries VALUES (?, ?, ?, ?, ?, ?)",
            (key := bytes.fromhex(run), items[item], value, reason, file, _mark(key, item, name, value, reason)),
        )


def _mark(key: bytes, item: str, name: str, value: float | None, reason: str | None) -> bytes:
    """Digest of an entry of the index: of all that `get` gives of it."""
    number = value.hex() if isinstance(value, float) else f"no number: {value}"
    text = f"{item}\0{name}\0{number}\0{reason is None}\0{reason}"
    return hashlib.blake2b(text.encode(), key=key, digest_size=8).digest()


def _remove(base: sqlite3.Connection, path: str) -> None:
    """Takes a file with its entries out of a base."""
    base.execute("DELETE FROM entries WHERE file IN (SELECT id FROM files WHERE path = ?)", (path,))
    base.execute("DELETE FROM files WHERE path = ?", (path,))


def _copied(source: sqlite3.Connection, target: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Copies an index; returns the files that it covers."""
    for table, places in (("files", "?, ?, ?, ?"), ("items", "?, ?, ?"), ("entries", "?, ?, ?, ?, ?, ?")):
        target.executemany(f"INSERT INTO {table} VALUES ({places})", source.execute(f"SELECT * FROM {table}"))
    return {path: (size, when) for path, size, when in target.execute("SELECT path, size, time FROM files")}


def _write_whole(path: Path, content: bytes) -> os.stat_result:
    """Writes a file that is there whole or not at all, also after a loss of power."""
    _make_folders(path.parent)
    aside = path.with_name(f"{path.stem}.{_host()}.{os.getpid()}.{secrets.token_hex(4)}.partial")
    try:
        file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        finally:
            os.close(file)
        aside.replace(path)
    except BaseException:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    _sync(path.parent)
    return path.stat()


def _unwritten(error: OSError) -> str:
    """What to do where the store cannot be written."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
        return f"name a store that you may write with --store or {VARIABLE}"
    return "once there is space for it, call again: all that was written before is found there"


def _make_folders(folder: Path) -> None:
    """Makes a folder with its parents, and brings their names to the disk."""
    missing = [f for f in (folder, *folder.parents) if not f.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        _sync(made.parent)


def _sync(path: Path) -> None:
    """Brings a file or a folder to the disk; folders where the system can."""
    if path.is_dir() and os.name == "nt":
        return
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(file)
    except OSError:
        if not path.is_dir():  # some network file systems have no fsync of a folder
            raise
    finally:
        os.close(file)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=20).hexdigest()


@lru_cache(maxsize=1)
def _host() -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", socket.gethostname())[:60]


def _alive(process: int) -> bool:
    if os.name == "nt":  # `kill` would end it there
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
