"""Records the outcome of a study in docs/outcomes.toml, from what `lasthop study run` prints.

    lasthop study run umts-vegas --json > outcome.json
    python docs/fill_outcomes.py outcome.json

An earlier outcome of the same study, form and parameter set is replaced, and so are its readings.
The commit is that of the working tree, which has to be clean. Nothing else in the file changes.
"""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "_ext"))

import evidence  # noqa: E402

TARGET = DOCS / "outcomes.toml"
HEAD = """\
# Outcomes of studies, newest of each form and parameter set. Written by docs/fill_outcomes.py from
# what `lasthop study run NAME --json` prints. `rule` names the rule of verdicts
# (docs/_ext/evidence.py). A reading has the verdicts of the claims that it is for.
"""
KINDS = ("outcome", "reading")
ORDER = ("umts-vegas", "radio-aware-tcp", "lte-handover", "d2d-tcp", "lte-vs-11ac")


def main(paths: list[str]) -> None:
    """Adds the outcomes of all files."""
    if not paths:
        sys.exit(f"usage: python docs/fill_outcomes.py FILE...\n\n{__doc__}")
    if changed := git("status", "--porcelain", "--untracked-files=no", "--", "crates", "python", "Cargo.lock"):
        sys.exit(f"the commit of the outcome cannot be named, because files are changed:\n{changed}")
    known = evidence.load(TARGET.name)
    known = {kind: list(known.get(kind, ())) for kind in KINDS}
    for path in paths:
        found = read(json.loads(Path(path).read_text(encoding="utf-8")))
        for kind, entries in found.items():
            new = {place_of(entry): entry for entry in entries}
            known[kind] = [new.pop(place_of(entry), entry) for entry in known[kind]] + list(new.values())
    TARGET.write_text(written(known), encoding="utf-8")


def place_of(entry: dict[str, Any]) -> tuple[Any, ...]:
    """What a newer entry of the same study replaces."""
    return tuple(entry.get(key) for key in ("study", "form", "set", "reading"))


def git(*words: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *words], cwd=DOCS.parent, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def read(printed: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """One outcome for each parameter set of a study, and one entry for each of its readings."""
    common = {
        "study": printed["study"],
        "form": "quick" if printed["quick"] else "full",
        "commit": git("rev-parse", "--short=8", "HEAD"),
        "date": dt.datetime.now(tz=dt.timezone.utc).date().isoformat(),
        "rule": "interval",
    }
    total: dict[str, Any] = {"runs": printed["runs"] + printed["taken"]}
    # The time is that of all runs only if none was found in the store.
    if not printed["taken"]:
        total["seconds"] = round(printed["seconds"])
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for name, claims in printed["parameter_sets"].items():
        base = {c["id"]: c["verdict"] for c in claims}
        found["outcome"].append({**common, **total, "set": name, **by_verdict(base)})
        for reading in dict.fromkeys(r for c in claims for r in c.get("readings", ())):
            judged = {c["id"]: c["readings"][reading]["verdict"] for c in claims if reading in c.get("readings", ())}
            found["reading"].append({**common, "set": name, "reading": reading, **by_verdict(judged)})
    return found


def by_verdict(judged: dict[str, str]) -> dict[str, list[str]]:
    """The claims of each verdict that there is."""
    listed = {v: [claim for claim, verdict in judged.items() if verdict == v] for v in evidence.VERDICTS}
    return {v: claims for v, claims in listed.items() if claims}


def written(known: dict[str, list[dict[str, Any]]]) -> str:
    """The file."""
    out = [HEAD]
    keys = ("study", "form", "set", "reading", "commit", "date", "rule", "runs", "seconds", *evidence.VERDICTS)
    for kind in KINDS:
        entries = sorted(known[kind], key=lambda o: ORDER.index(o["study"]) if o["study"] in ORDER else len(ORDER))
        for o in sorted(entries, key=lambda o: o["form"]):
            out.append(f"[[{kind}]]")
            out += [f"{k} = {json.dumps(o[k])}" for k in keys if k in o]
            out.append("")
    return "\n".join(out)


if __name__ == "__main__":
    main(sys.argv[1:])
