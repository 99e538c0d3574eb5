#!/bin/sh
# Run everything that needs no ROS under another Python: test_python.sh PYTHON [PYTEST ARGUMENT...]
#
# Byte-compiles everything with warnings as errors, checks types, and runs the tests.
set -eu
python=$1
shift
cd "$(dirname "$0")/.."
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
venv=build/python$version
mkdir -p build && touch build/COLCON_IGNORE
[ -x "$venv/bin/pip" ] || "$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r requirements/extras.txt
PYTHONPYCACHEPREFIX="$venv/pycache" "$venv/bin/python" -W error -m compileall -q -f \
    xplane_bridge launch test benchmarks examples tools
"$venv/bin/python" -m mypy --python-version "$version" xplane_bridge/*.py \
    xplane_bridge/bridges/protocols xplane_bridge/bridges/links xplane_bridge/bridges/sessions xplane_bridge/bridges/conversions \
    xplane_bridge/simulation/peers
PYTHONPATH=$PWD exec "$venv/bin/python" -P -m pytest "$@"
