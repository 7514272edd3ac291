"""What proves of an exception that the request it ended never took effect."""

from __future__ import annotations

from .foreign import bases_of, qualified, read

__all__ = ["never_sent"]

_NEVER_SENT = frozenset(
    {
        "ConnectionRefusedError",
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


_FOLLOWING = {
    "httpx._client": "history",
    "aiohttp.client": "history",
    "requests.sessions": "hist",
    "urllib.request": "",
}
"""Where the well-known clients follow redirects, and the local name that holds the earlier answers;
urllib has a function for it instead."""


def never_sent(error: BaseException) -> bool:
    """Whether an exception proves that the request did not take effect. The default `not_done`.

    Knows refused connections, unknown hosts, TLS handshakes that failed, the connect errors of
    httpx, aiohttp and requests, and the answers 400, 401, 403, 404, 405, 413, 415, 422 and 429.
    They prove nothing where httpx, aiohttp, requests or urllib had followed a redirect before.
    Goes by the names of classes and their attributes, so none of these is imported.
    """
    return read(lambda: _proves(error), lambda _: False)


def _proves(error: BaseException) -> bool:
    names = {qualified(kind) for kind in bases_of(error)}
    refused = bool(names & _NEVER_SENT) or _answer_of(error) in _REFUSING_ANSWERS
    if "requests.exceptions.ConnectionError" in names or "ssl.SSLError" in names:
        refused = refused or _was_connecting(error)
    return refused and not _was_redirected(error)


def _was_redirected(error: BaseException) -> bool:
    """Whether an earlier request was answered, by a redirect, before the one that this ended."""
    answer = getattr(error, "response", None)
    if getattr(answer, "history", None) or getattr(error, "history", None):
        return True
    traceback = error.__traceback__
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
        kept = _FOLLOWING.get(frame.f_globals.get("__name__", ""))
        if kept == "" and frame.f_code.co_name.startswith("http_error_30"):
            return True
        if kept and frame.f_locals.get(kept):
            return True
    return False


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
