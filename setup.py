"""Build with pip; colcon builds with CMake. Everything is declared in setup.cfg, for both."""

from setuptools import setup

setup()
