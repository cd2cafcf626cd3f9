#!/usr/bin/env bash
# Installs the wheel in a bare environment and uses it as somebody would who has nothing but the wheel.
#   tests/wheel.sh PYTHON WHEEL
set -euo pipefail
python=$(realpath -s "$1")
wheel=$(realpath "$2")

megabytes=$(($(stat -c %s "$wheel") / 1000000))
echo "$(basename "$wheel"): $megabytes MB"
[ "$megabytes" -lt 15 ] || { echo "the wheel is too large: 15 MB at most" >&2; exit 1; }

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
"$python" -m venv "$room/env"
"$room/env/bin/python" -m pip --quiet install "$wheel"
unset VIRTUAL_ENV PYTHONPATH
cd "$room" # nothing of the source tree in reach
lasthop="$room/env/bin/lasthop"

set -x
"$lasthop" --version
"$lasthop" scenarios copy dumbbell
"$lasthop" validate dumbbell.toml
"$lasthop" run dumbbell.toml --set scenario.duration="5 s" --out out
"$lasthop" report out
"$lasthop" study list
"$room/env/bin/python" -c 'import lasthop as lh; lh.Results.load("out").plot.cwnd().savefig("cwnd.pdf")'
test -s out/report.html -a -s cwnd.pdf
