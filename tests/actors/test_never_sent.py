"""What an error proves of the request that it ended: that nothing took effect, or nothing."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest

from everstep.actors.never_sent import never_sent


class Answered(Exception):
    def __init__(self, status: int) -> None:
        self.status_code = status


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 415, 422, 429])
def test_an_answer_that_refuses_was_not_done(status: int) -> None:
    assert never_sent(Answered(status))


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 504])
def test_an_answer_that_tells_nothing_is_unknown(status: int) -> None:
    assert not never_sent(Answered(status))


# --- after a redirect was followed, the first request may have done its work ------------------


class Response:
    status_code = 404

    def __init__(self, history: list[object]) -> None:
        self.history = history


def of_a_client(name: str, **facts: Any) -> Exception:
    """An error with the name that a client of HTTP gives it, which is not installed here."""
    module, _, kind = name.rpartition(".")
    error: Exception = type(kind, (Exception,), {"__module__": module})()
    vars(error).update(facts)
    return error


def raised_in(module: str, code: str, error: Exception) -> Exception:
    """The error, after it went through a function `code` of a module of that name."""
    names: dict[str, Any] = {"__name__": module, "error": error}
    exec(code, names)
    with pytest.raises(type(error)):
        names["follow"]()
    return error


@pytest.mark.parametrize("history", [[], [object()]])
def test_an_answer_that_refuses_proves_nothing_after_a_redirect(history: list[object]) -> None:
    for error in (
        of_a_client("requests.exceptions.HTTPError", response=Response(history)),
        of_a_client(
            "aiohttp.client_exceptions.ClientResponseError", status=404, history=tuple(history)
        ),
    ):
        assert never_sent(error) is (not history)


@pytest.mark.parametrize("redirects", [0, 1])
@pytest.mark.parametrize(
    ("name", "module", "local"),
    [
        ("requests.exceptions.ConnectTimeout", "requests.sessions", "hist"),
        ("aiohttp.client_exceptions.ClientConnectorError", "aiohttp.client", "history"),
    ],
)
def test_a_refused_connection_proves_nothing_while_a_redirect_is_followed(
    name: str, module: str, local: str, redirects: int
) -> None:
    code = f"def follow():\n    {local} = [None] * {redirects}\n    raise error"

    assert never_sent(raised_in(module, code, of_a_client(name))) is (redirects == 0)


def test_a_history_of_other_code_is_no_redirect() -> None:
    error = of_a_client("requests.exceptions.ConnectTimeout")

    assert never_sent(raised_in("shop", "def follow():\n    history = [1]\n    raise error", error))


@pytest.mark.parametrize("path", ["/refused", "/unreachable"])
@pytest.mark.parametrize("redirected", [False, True])
def test_httpx_is_believed_unless_it_followed_a_redirect(path: str, redirected: bool) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/moved":
            return httpx.Response(307, headers={"location": path})
        if request.url.path == "/unreachable":
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(404)

    async def ask_async() -> None:
        transport = httpx.MockTransport(answer)
        async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
            (await client.post(url)).raise_for_status()

    def ask() -> None:
        transport = httpx.MockTransport(answer)
        with httpx.Client(transport=transport, follow_redirects=True) as client:
            client.post(url).raise_for_status()

    url = "http://shop" + ("/moved" if redirected else path)
    for way in (ask, lambda: asyncio.run(ask_async())):
        with pytest.raises(httpx.HTTPError) as caught:
            way()
        assert never_sent(caught.value) is not redirected


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302 if self.path == "/moved" else 404)
        self.send_header("Location", "/nowhere")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (as in the base)
        """Say nothing."""


@pytest.fixture
def shop() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Shop) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        with contextlib.ExitStack() as stack:
            stack.callback(serving.join)
            stack.callback(server.shutdown)
            yield f"http://127.0.0.1:{server.server_port}"


@pytest.mark.real
@pytest.mark.parametrize(("path", "known"), [("/nowhere", True), ("/moved", False)])
def test_urllib_is_believed_unless_it_followed_a_redirect(
    shop: str, path: str, known: bool
) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(shop + path)

    assert never_sent(caught.value) is known
    caught.value.close()
