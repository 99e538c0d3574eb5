#!/bin/sh
# The shell of `make shell`: shell.sh ROOT [ARGUMENTS OF BASH...]
#
# ROOT is build/<distro>, as the Makefile lays it out. bash reads shell.bash when it starts, also
# if commands are piped into it.
set -e
tools=$(cd "$(dirname "$0")" && pwd)
XPLANE_BRIDGE_ROOT=$(cd "$1" && pwd)
BASH_ENV=$tools/shell.bash
export XPLANE_BRIDGE_ROOT BASH_ENV
shift
exec bash --rcfile "$BASH_ENV" "$@"
