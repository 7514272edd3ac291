"""What proves of an exception that the request it ended never took effect."""

from __future__ import annotations

__all__ = ["never_sent"]

_NEVER_SENT = frozenset(
    {
        "builtins.ConnectionRefusedError",
        "socket.gaierror",
        "ssl.SSLCertVerificationError",
        "httpx.ConnectError",
        "httpx.ConnectTimeout",
        "httpx.PoolTimeout",
        "httpx.UnsupportedProtocol",
        "httpcore.ConnectError",
        "httpcore.ConnectTimeout",
        "aiohttp.client_exceptions.ClientConnectorError",
        "aiohttp.client_exceptions.InvalidURL",
        "requests.exceptions.ConnectTimeout",
        "requests.exceptions.InvalidURL",
        "requests.exceptions.MissingSchema",
        "urllib3.exceptions.NewConnectionError",
    }
)
_REFUSING_ANSWERS = frozenset({400, 401, 403, 404, 405, 413, 415, 422, 429})


def never_sent(error: BaseException) -> bool:
    """Whether an exception proves that the request did not take effect. The default `not_done`.

    Knows refused connections, unknown hosts, TLS handshakes that failed, the connect errors of
    httpx, aiohttp and requests, and the answers 400, 401, 403, 404, 405, 413, 415, 422 and 429.
    Goes by the names of classes and their attributes, so none of these is imported.
    """
    names = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__}
    if names & _NEVER_SENT:
        return True
    if "requests.exceptions.ConnectionError" in names or "ssl.SSLError" in names:
        return _was_connecting(error)
    return _answer_of(error) in _REFUSING_ANSWERS


def _was_connecting(error: BaseException) -> bool:
    """For errors whose class does not tell: whether a connection never came about."""
    text = f"{error!r} {error.__cause__!r} {error.__context__!r}"
    return any(
        sign in text
        for sign in (
            "NewConnectionError",
            "NameResolutionError",
            "ConnectTimeoutError",
            "handshake",
        )
    )


def _answer_of(error: BaseException) -> object:
    """The HTTP status in an error, where the well-known clients put it."""
    answer = getattr(error, "response", None)
    for holder, name in ((answer, "status_code"), (error, "status_code"), (error, "status")):
        status = getattr(holder, name, None)
        if isinstance(status, int):
            return status
    return None
