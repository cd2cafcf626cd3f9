# Programs of others that tests run beside ours. `.ci/run` reads this file.
#
# With its variable set, a test fails where its program is missing; without it, the test says so and tries nothing.
# `need` sets the variable if the program is there or Debian's package can be installed; else a line names what
# did not run, now and, by `not_run`, after the last lane.

skipped=()

# need VARIABLE PACKAGE PROGRAM WHAT
need() {
    command -v "$3" > /dev/null || install_package "$2"
    if command -v "$3" > /dev/null; then
        export "$1=1"
    else
        skipped+=("$4 (no program $3, Debian's package $2)")
        printf 'DID NOT RUN: %s\n' "${skipped[-1]}" >&2
    fi
}

# Without the user's answers: the questions of a package (tshark asks whether everybody may capture) have the
# safe one by default. What apt-get says stands in the log only if it fails.
install_package() {
    [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null || return 0
    local log
    log=$(mktemp)
    {
        timeout 300 apt-get update -q &&
            DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -q -y --no-install-recommends "$1"
    } > "$log" 2>&1 < /dev/null || tail -n 5 "$log" >&2
    rm -f "$log"
}

# Names again what did not run, where the end of a long log is read.
not_run() {
    local what
    for what in "${skipped[@]}"; do printf 'DID NOT RUN: %s\n' "$what" >&2; done
}
