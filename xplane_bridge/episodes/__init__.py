"""
Episodes: the simulated aircraft as a Gymnasium environment, and training on it.

Importing this registers ``xplane_bridge/Flight-v0`` if gymnasium is installed.
"""

from importlib.util import find_spec

ID = 'xplane_bridge/Flight-v0'

if find_spec('gymnasium') is not None:
    from gymnasium.envs.registration import register, registry

    if ID not in registry:
        register(ID, 'xplane_bridge.episodes.environment:FlightEnv')
