#!/bin/bash
# Build and test as on a ROS user's machine: test_sourced.sh ROOT [PYTEST ARGUMENT...]
#
# A clean copy of the sources is built by plain colcon, without symbolic links, and its install
# space is sourced. The executables are in lib/xplane_bridge only; PATH is left alone. ROOT is
# build/<distro>, as the Makefile lays it out.
#
# Two runs, in parallel. `colcon test` has only pytest and the run-time dependencies in package.xml:
# it runs whatever these allow, and skips the rest with a reason. The other has the optional packages
# too (as in a virtual environment with --system-site-packages on a machine with ROS 2): it flies each
# node on the simulated aircraft, and runs what needs, or looks for, such a package, and what is
# marked as slow. What would be the same in both runs once, by colcon.
set -euo pipefail
root=$(cd "$1" && pwd)
shift
sourced=$root/sourced
cd "$(dirname "$0")/.."
in_ros=$PWD/tools/in_ros.sh

# Outside of the folders that are made anew: what is as old as it was need not be compiled again, which
# the first processes of each run would all do at once. What lay in a temporary folder is gone.
export PYTHONPYCACHEPREFIX=$sourced/bytecode
rm -rf "$PYTHONPYCACHEPREFIX${TMPDIR:-/tmp}/pytest-of-"*

# What git would commit now; in a plain copy of the sources, everything except the build.
rm -rf "$sourced/src" "$sourced/install"
mkdir -p "$sourced/src/xplane_bridge"
if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
        tar --create --null --files-from=-
else
    tar --create --exclude=./build --exclude=__pycache__ .
fi | tar --extract --directory "$sourced/src/xplane_bridge"

colcon_in() {
    "$in_ros" "$sourced" colcon --log-base "$sourced/log" "$@"
}

# colcon's own -l makes a build crawl on a machine that is otherwise busy.
MAKEFLAGS=-j$(nproc) colcon_in build --base-paths "$sourced/src" --build-base "$sourced/colcon" \
    --install-base "$sourced/install" --event-handlers console_start_end-
if [ -s "$sourced/log/latest_build/xplane_bridge/stderr.log" ]; then
    echo 'the build printed warnings:' >&2
    cat "$sourced/log/latest_build/xplane_bridge/stderr.log" >&2
    exit 1
fi

rm -rf "$sourced/colcon/xplane_bridge/test_results"
# It mostly waits. What computes for long is left to the other run.
PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-} -m 'not slow'" colcon_in test --base-paths "$sourced/src" --build-base "$sourced/colcon" \
    --install-base "$sourced/install" --event-handlers console_start_end- console_cohesion+ \
    --return-code-on-test-failure >"$sourced/test.log" 2>&1 &
declared=$!

echo 'Tests with the optional packages:'
optional=$root/sourced-optional
mkdir -p "$optional"
ln -sfn ../venv "$optional/venv"
ln -sfn ../sourced/install "$optional/install"
failed=0
cd "$sourced/src/xplane_bridge"
run=("$in_ros" "$optional" python3 -P -m pytest -m 'sim or slow or optional')
# Each of several processes would compile all tests, which takes longer than importing them.
[ -e "$PYTHONPYCACHEPREFIX/.tests" ] || "${run[@]}" --collect-only -qq >/dev/null || true
mkdir -p "$PYTHONPYCACHEPREFIX" && touch "$PYTHONPYCACHEPREFIX/.tests"
"${run[@]}" "$@" | tee "$sourced/optional.log" || failed=$?

echo 'colcon test, with what package.xml declares:'
wait "$declared" || failed=$?
cat "$sourced/test.log"
# At the end, as it may be far above, and a CI's page may show only the last lines.
[ "$failed" = 0 ] || { echo 'Failed:' && grep -hoE '^(1: )?(FAILED|ERROR) .*' "$sourced/optional.log" "$sourced/test.log" || true; }
exit "$failed"
