"""Prints the steps of a handover, or counts drops by their cause: steps.py FOLDER [drops]."""

import sys
from collections import Counter

import lasthop as lh

run = lh.Results.load(sys.argv[1])
if sys.argv[2:] == ["drops"]:
    for cause, count in sorted(Counter(run.table("drops")["cause"].to_pylist()).items()):
        print(f"{cause:16}  {count}")
else:
    for event in run.events.to_pylist():
        kind, detail, value = event["kind"], event["detail"], event["value"]
        if kind.startswith(("handover", "radio", "rrc")):
            service = f" ({value:.3f} s without service)" if detail.startswith("cell") and value is not None else ""
            print(f"{event['time_s']:.3f}  {kind:20}  {detail}{service}")
