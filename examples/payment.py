"""A step that calls a payment API, and what follows from each way in which that can fail.

    python examples/payment.py

The bank is a real HTTP server on this machine, and the death a real one. The customer pays once.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
from collections import deque
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Self

import httpx

from everstep import Actor, Done, NotDone, Retry, Runtime, fixed, step

# --- the step ---------------------------------------------------------------------------------


class Payment(Actor):
    bank: str
    invoice: str
    cents: int

    @step(retry=Retry(max_attempts=5, backoff=fixed(0.1)), timeout=30)
    async def pay(self) -> str:
        return await self.ctx.once(
            "pay",
            charge,
            self.bank,
            self.invoice,
            self.cents,
            self.ctx.operation_id("pay"),
            probe=partial(find_payment, self.bank),
        )


class Busy(Exception):
    """The bank answers 429, and says how long to wait."""

    status_code = 429

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the bank is busy for {seconds:g} s")
        self.retry_after = seconds


async def charge(bank: str, invoice: str, cents: int, operation: str) -> str:
    order = {"invoice": invoice, "cents": cents}
    async with httpx.AsyncClient(base_url=bank, timeout=0.5) as client:
        answer = await client.post("/payments", json=order, headers={"Idempotency-Key": operation})
    if answer.status_code == 429:
        raise Busy(float(answer.headers["Retry-After"]))
    answer.raise_for_status()
    number: str = answer.json()["number"]
    return number


async def find_payment(bank: str, operation: str) -> Done[str] | NotDone:
    """The probe: asks the bank whether it has taken the payment of this operation."""
    async with httpx.AsyncClient(base_url=bank, timeout=0.5) as client:
        answer = await client.get(f"/payments/{operation}")
    if answer.status_code == 404:
        return NotDone()
    answer.raise_for_status()
    return Done(answer.json()["number"])


# --- one task for each kind of trouble --------------------------------------------------------


async def pay(store: Path, bank: str, invoice: str) -> str:
    """Pay an invoice, or go on with paying it: the invoice is the task's id."""
    async with Runtime(store) as runtime:
        task = await runtime.start(Payment(bank=bank, invoice=invoice, cents=4200), id=invoice)
        number: str = await task.result()
        return number


async def pay_at_a_closed_bank(store: Path, bank: "Bank", invoice: str) -> str:
    """Pay while nobody listens; the bank opens when that has failed once."""
    async with Runtime(store) as runtime:
        task = await runtime.start(Payment(bank=bank.url, invoice=invoice, cents=4200), id=invoice)
        async for event in task.events(follow=True):
            if event.kind == "step_failed":
                bank.serve()
                break
        number: str = await task.result()
        return number


async def told(store: Path, invoice: str) -> list[str]:
    """What the log says of the step and of its effect."""
    async with Runtime(store) as runtime:
        events = runtime.task(invoice).events()
        return [one.kind async for one in events if one.kind.startswith(("step_", "effect_"))]


def pay_through(trouble: str, folder: Path) -> tuple[str, list[str], int]:
    """Pay through one kind of trouble: the payment's number, the log, payments at the bank."""
    store = folder / "tasks.db"
    with Bank(trouble) as bank:
        if trouble == "connect error":
            number = asyncio.run(pay_at_a_closed_bank(store, bank, trouble))
        else:
            bank.serve()
            if trouble == "death":
                die_while_paying(store, bank, trouble)
            number = asyncio.run(pay(store, bank.url, trouble))
        return number, asyncio.run(told(store, trouble)), len(bank.payments)


def die_while_paying(store: Path, bank: "Bank", invoice: str) -> None:
    """Pay in a child process, which is killed when the bank has the money."""
    with subprocess.Popen([sys.executable, __file__, "pay", store, bank.url, invoice]) as child:
        if not bank.stuck.wait(30):
            raise SystemExit("the child never paid")
        child.kill()


# --- the bank ---------------------------------------------------------------------------------


class Bank:
    """Takes payments, each operation once; the first order meets with the trouble."""

    def __init__(self, trouble: str) -> None:
        self.trouble = deque([trouble])
        self.payments: dict[str, str] = {}
        self.stuck = threading.Event()
        """An order has been taken and is not answered."""
        self.closing = threading.Event()
        bank = self

        class Desk(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                bank.order(self, self.headers["Idempotency-Key"])

            def do_GET(self) -> None:
                number = bank.payments.get(self.path.removeprefix("/payments/"))
                answer(self, 404 if number is None else 200, number or "")

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as in the base
                """Keep quiet."""

        self._server = ThreadingTCPServer(("127.0.0.1", 0), Desk, bind_and_activate=False)
        self._server.daemon_threads = True
        self._server.server_bind()
        self._thread = threading.Thread(target=self._server.serve_forever, args=[0.01])
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def order(self, desk: BaseHTTPRequestHandler, operation: str) -> None:
        trouble = self.trouble.popleft() if self.trouble else ""
        if trouble == "429":
            desk.send_response(429)
            desk.send_header("Retry-After", "0.2")
            desk.end_headers()
            return
        if trouble != "500, not taken":
            self.payments.setdefault(operation, f"payment-{len(self.payments) + 1}")
        if trouble in ("timeout", "death"):
            self.stuck.set()
            self.closing.wait()
        elif trouble.startswith("500"):
            answer(desk, 500, "")
        else:
            answer(desk, 200, self.payments[operation])

    def serve(self) -> None:
        """Listen from now on; before, connections are refused."""
        self._server.server_activate()
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


def answer(desk: BaseHTTPRequestHandler, status: int, number: str) -> None:
    body = json.dumps({"number": number}).encode()
    desk.send_response(status)
    desk.send_header("Content-Length", str(len(body)))
    desk.end_headers()
    desk.wfile.write(body)


TROUBLES = ("none", "connect error", "429", "500, not taken", "500, taken", "timeout", "death")


def main() -> None:
    for trouble in TROUBLES:
        with tempfile.TemporaryDirectory() as folder:
            _, events, payments = pay_through(trouble, Path(folder))
            print(f"{trouble}: {payments} payment\n    {', '.join(events)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["pay"]:
        asyncio.run(pay(Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
    else:
        main()
