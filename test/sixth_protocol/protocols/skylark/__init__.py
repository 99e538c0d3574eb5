"""Skylark, a simulator that exists in a test only: reports out, controls in."""

from xplane_bridge.protocols.skylark.codec import decode, encode
from xplane_bridge.protocols.skylark.messages import Controls, MESSAGES, Poll, PORT, Report

__all__ = ['Controls', 'decode', 'encode', 'MESSAGES', 'Poll', 'PORT', 'Report']
