#!/bin/sh
# Create (or repair) the virtual environment for a ROS distribution: make_venv.sh VENV DISTRO [declared]
#
# DISTRO is jazzy or kilted (real ROS 2 from wheels) or "system" (a ROS 2 is sourced, so only the
# additional packages of demos and tests are installed). With "declared", only the run-time
# dependencies in package.xml and pytest are added to ROS. What is pinned is taken by its hash alone.
set -eu
venv=$1
distro=$2
packages=${3:-optional}
here=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "make: $python has no venv module; on Debian and Ubuntu: apt install python3-venv python3-dev" >&2
    exit 1
fi

options=''
[ "$distro" != system ] || options='--system-site-packages'
# shellcheck disable=SC2086
[ -x "$venv/bin/pip" ] || "$python" -m venv $options "$venv"

set -- --require-hashes -r "$here/requirements/extras.txt"
if [ "$packages" = declared ]; then
    # The pytest plug-ins required by colcon's wheels need a newer pytest than Ubuntu has; Ubuntu's
    # colcon packages do not require them.
    grep -v '^pytest-' "$here/requirements/$distro.txt" > "$venv/ros.txt"
    set -- --require-hashes --no-deps -r "$venv/ros.txt" -r "$here/requirements/noble.txt"
elif [ "$distro" = system ]; then
    # The distribution's own packages are left alone: install only what is missing or too old.
    set -- -r "$here/requirements/optional.txt" hypothesis pytest-timeout pytest-xdist
else
    set -- -r "$here/requirements/$distro.txt" "$@"
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile "$@"
[ "$distro" != system ] || exit 0

# colcon expects an install space to have this file.
: > "$venv/local_setup.sh"

# The wheels' CMake files name the Python they were built with; point them at this one.
"$venv/bin/python" - "$venv" <<'PYTHON'
import pathlib
import re
import sys
import sysconfig

prefix = pathlib.Path(sys.argv[1]).resolve()
built_at = re.compile(r'/opt/python/cp3\d+-cp3\d+')
built_include = re.compile(built_at.pattern + r'/include/python3\.\d+')
for path in (prefix / 'share').rglob('*.cmake'):
    text = path.read_text()
    if built_at.search(text):
        text = built_include.sub(sysconfig.get_paths()['include'], text)
        path.write_text(built_at.sub(str(prefix), text))
PYTHON
