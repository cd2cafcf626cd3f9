#!/usr/bin/env bash
# Builds the files of a release in dist/, checks them, and uses them in bare environments.
#   release/dist.sh BIN        BIN: the folder of the virtual environment's programs, from the root of the repository
#   PYTHONS="A B"              interpreters; default: the oldest supported one and the newest that is found
set -euo pipefail
cd "$(dirname "$0")/.."
bin=$PWD/$1

missing=()
pythons=(${PYTHONS:-})
if [ ${#pythons[@]} = 0 ]; then
    newest=
    for minor in 10 11 12 13 14 15; do
        if "python3.$minor" -c 'import ensurepip, venv' 2> /dev/null; then
            [ "$minor" != 10 ] || pythons+=(python3.10)
            [ "$minor" = 10 ] || newest=python3.$minor
        fi
    done
    [ ${#pythons[@]} = 1 ] || missing+=("Python 3.10, the oldest supported one (no program python3.10)")
    [ -z "$newest" ] || pythons+=("$newest")
fi
[ ${#pythons[@]} -gt 0 ] || { echo "no Python with venv was found; PYTHONS names them" >&2; exit 1; }

guided=(--pgo)
release/llvm-profdata --version > /dev/null || {
    guided=(); missing+=("profile-guided optimization, which saves some 9 % of the instructions"); }

rm -rf dist
portable=()
# Linked with the linker of the system the extension would need the glibc of this machine.
[ "$(uname)" != Linux ] || portable=(--compatibility manylinux_2_17 -- -C "linker=$PWD/release/zig-cc")
# bash 3.2, which macOS has, takes an empty list for an unset variable.
"$bin/maturin" build --profile dist --locked --out dist ${guided[@]+"${guided[@]}"} ${portable[@]+"${portable[@]}"}
"$bin/maturin" sdist --out dist
"$bin/python" release/check.py --tools dist/*.whl dist/*.tar.gz

# What make hands to its recipes belongs to the environment of the source tree.
unset VIRTUAL_ENV PYO3_PYTHON PIP_CONSTRAINT
for python in "${pythons[@]}"; do
    bash tests/wheel.sh "$(command -v "$python")" dist/lasthop-*.whl
done

# The sdist is built where there is nothing but Python, pip, Rust and a C compiler. The only network is that of the
# registries of pip and cargo.
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
oldest=$(command -v "${pythons[0]}")
"$oldest" -m venv "$room/env"
"$room/env/bin/python" -m pip --quiet wheel --no-deps --wheel-dir "$room/built" dist/lasthop-*.tar.gz
bash tests/wheel.sh "$oldest" "$room"/built/lasthop-*.whl

# What an installation consists of, beside the wheel: its own SBOMs name what is linked into it.
"$oldest" -m venv "$room/installed"
"$room/installed/bin/python" -m pip --quiet install dist/*.whl
"$room/installed/bin/python" -m pip --quiet uninstall --yes setuptools pip
# The wheel is optimized further than the build of the tests: it has to give the same results.
"$room/installed/bin/python" -m tests.golden hashes "$room/hashes.txt"
diff -q "$room/hashes.txt" tests/golden/hashes.txt
"$bin/cyclonedx-py" environment --output-reproducible --of JSON \
    --output-file "dist/$(basename dist/*.tar.gz .tar.gz)-python.cdx.json" "$room/installed/bin/python"

ls -l dist
for what in ${missing[@]+"${missing[@]}"}; do echo "DID NOT RUN: $what" >&2; done
