"""Skylark, a simulator that exists only in a test: reports out, controls in."""

from xplane_bridge.protocols.skylark.codec import decode, encode
from xplane_bridge.protocols.skylark.messages import Controls, MESSAGES, Poll, PORT, Report

__all__ = ['Controls', 'decode', 'encode', 'MESSAGES', 'Poll', 'PORT', 'Report']
