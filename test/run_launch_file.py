"""Run a launch file as `ros2 launch` does: run_launch_file.py FILE name:=value ..."""

import sys

from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

service = LaunchService(argv=sys.argv[2:])
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(
    PythonLaunchDescriptionSource(sys.argv[1]),
    launch_arguments=[argument.split(':=', 1) for argument in sys.argv[2:]])]))
sys.exit(service.run())
