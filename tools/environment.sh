# ROS 2 and this package's install space below "$root", for in_ros.sh and shell.bash: sh or bash.
if [ -d "$root/venv" ]; then
    VIRTUAL_ENV=$root/venv
    PATH=$VIRTUAL_ENV/bin:$PATH
    export VIRTUAL_ENV PATH
fi
if [ -z "${ROS_DISTRO:-}" ]; then
    # The wheels' own start-up hook would start Python twice to set this path.
    export LD_LIBRARY_PATH="$VIRTUAL_ENV/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    export AMENT_PREFIX_PATH="$VIRTUAL_ENV${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}"
    export CMAKE_PREFIX_PATH="$VIRTUAL_ENV${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
    export RMW_IMPLEMENTATION="${RMW_IMPLEMENTATION:-rmw_fastrtps_cpp}"
    export ROS_AUTOMATIC_DISCOVERY_RANGE="${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}"
fi
if [ -f "$root/install/local_setup.sh" ]; then
    COLCON_CURRENT_PREFIX=$root/install
    . "$root/install/local_setup.sh"
    unset COLCON_CURRENT_PREFIX
fi
