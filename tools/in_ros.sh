#!/bin/sh
# Run a command with ROS 2 and this package's install space sourced: in_ros.sh ROOT COMMAND...
#
# ROOT is build/<distro>, as the Makefile lays it out.
set -e
root=$(cd "$1" && pwd)
. "$(dirname "$0")/environment.sh"
shift
exec "$@"
