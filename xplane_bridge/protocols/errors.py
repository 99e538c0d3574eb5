"""The one error that bytes from a peer can cause."""


class ProtocolError(Exception):
    """
    A peer sent bytes that its protocol does not allow.

    The text says what, where, what was expected and what came, for example
    ``DREF value 3: 2 bytes left at offset 41, need 4``. Mistakes of the caller raise
    ``ValueError`` or ``TypeError`` instead, before a byte is sent.
    """
