"""Records the outcome of a study in docs/outcomes.toml, from what `lasthop study run` prints.

    lasthop study run umts-vegas --json > outcome.json
    python docs/fill_outcomes.py outcome.json

An earlier outcome of the same study, form and parameter set is replaced. The commit is that of the
working tree, which has to be clean. Nothing else in the file changes.
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
# (docs/_ext/evidence.py).
"""
ORDER = ("umts-vegas", "radio-aware-tcp", "lte-handover", "d2d-tcp", "lte-vs-11ac")


def main(paths: list[str]) -> None:
    """Adds the outcomes of all files."""
    if not paths:
        sys.exit(f"usage: python docs/fill_outcomes.py FILE...\n\n{__doc__}")
    if changed := git("status", "--porcelain", "--untracked-files=no", "--", "crates", "python", "Cargo.lock"):
        sys.exit(f"the commit of the outcome cannot be named, because files are changed:\n{changed}")
    known = evidence.load(TARGET.name)["outcome"]
    for path in paths:
        for new in read(json.loads(Path(path).read_text(encoding="utf-8"))):
            place = [(o["study"], o["form"], o["set"]) for o in known]
            key = (new["study"], new["form"], new["set"])
            if key in place:
                known[place.index(key)] = new
            else:
                known.append(new)
    TARGET.write_text(written(known), encoding="utf-8")


def git(*words: str) -> str:
    """What git prints."""
    done = subprocess.run(["git", *words], cwd=DOCS.parent, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def read(printed: dict[str, Any]) -> list[dict[str, Any]]:
    """One outcome for each parameter set of a study."""
    common = {
        "study": printed["study"],
        "form": "quick" if printed["quick"] else "full",
        "commit": git("rev-parse", "--short=8", "HEAD"),
        "date": dt.datetime.now(tz=dt.timezone.utc).date().isoformat(),
        "rule": "interval",
        "runs": printed["runs"] + printed["taken"],
    }
    # The time is that of all runs only if none was found in the store.
    if not printed["taken"]:
        common["seconds"] = round(printed["seconds"])
    found = []
    for name, claims in printed["parameter_sets"].items():
        verdicts = {v: [c["id"] for c in claims if c["verdict"] == v] for v in evidence.VERDICTS}
        found.append({**common, "set": name, **{v: ids for v, ids in verdicts.items() if ids}})
    return found


def written(outcomes: list[dict[str, Any]]) -> str:
    """The file."""
    outcomes = sorted(outcomes, key=lambda o: ORDER.index(o["study"]) if o["study"] in ORDER else len(ORDER))
    outcomes = sorted(outcomes, key=lambda o: o["form"])
    out = [HEAD]
    keys = ("study", "form", "set", "commit", "date", "rule", "runs", "seconds", *evidence.VERDICTS)
    for o in outcomes:
        out.append("[[outcome]]")
        out += [f"{k} = {json.dumps(o[k])}" for k in keys if k in o]
        out.append("")
    return "\n".join(out)


if __name__ == "__main__":
    main(sys.argv[1:])
