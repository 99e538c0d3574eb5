#!/bin/bash
# Build the example controller in C++ against this package and check it in flight: test_cpp_example.sh ROOT
#
# ROOT is build/<distro>/sourced-optional after `make test`, or build/<distro> after `make build`.
# Needs rclcpp, which only a ROS 2 installation has.
set -euo pipefail
root=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
in_ros=$PWD/tools/in_ros.sh
out=$root/cpp_example
mkdir -p "$out"

MAKEFLAGS=-j$(nproc) "$in_ros" "$root" colcon --log-base "$out/log" build \
    --base-paths examples/my_controller_cpp --build-base "$out/colcon" \
    --install-base "$out/install" --event-handlers console_direct+ \
    --cmake-args "-DCMAKE_CXX_FLAGS=${CXXFLAGS:-} -Wall -Wextra -Werror"

cd "$out"
set +u
COLCON_CURRENT_PREFIX=$out/install
. "$out/install/local_setup.sh"
set -u
exec "$in_ros" "$root" "$root/install/xplane_bridge/lib/xplane_bridge/check_controller" \
    'ros2 run my_controller_cpp my_controller' --lockstep
