"""The session with Skylark."""

from xplane_bridge.sessions.skylark.session import SkylarkSession

__all__ = ['SkylarkSession']
