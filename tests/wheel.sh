#!/usr/bin/env bash
# Installs the wheel in a bare environment and uses it as somebody would who has nothing but the wheel.
#   tests/wheel.sh PYTHON WHEEL
set -euo pipefail
absolute() { case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac }
python=$(absolute "$1")
wheel=$(absolute "$2")

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
begin=$SECONDS
"$python" -m venv "$room/env"
"$room/env/bin/python" -m pip --quiet --disable-pip-version-check install "$wheel"
unset VIRTUAL_ENV PYTHONPATH
cd "$room" # nothing of the source tree in reach
lasthop="$room/env/bin/lasthop"

set -x
"$lasthop" --version
"$lasthop" scenarios copy dumbbell
"$lasthop" validate dumbbell.toml
"$lasthop" run dumbbell.toml --set scenario.duration="5 s" --out out
"$room/env/bin/python" -c 'import lasthop as lh; lh.Results.load("out").plot.cwnd().savefig("cwnd.pdf")'
test -s cwnd.pdf
set +x
times > times # of the shell, then of the commands: user and system
echo "$("$python" -V): $((SECONDS - begin)) s from an empty environment to the first figure," \
    "processor time (user system): $(tail -n 1 times)"
set -x
"$lasthop" report out
"$lasthop" study list
"$lasthop" completion bash > completion
"$lasthop" man > lasthop.1
test -s out/report.html -a -s completion -a -s lasthop.1
