"""A bank: accounts are servers, and transfers between them survive that the process is killed.

    python examples/bank.py

The teller is a process of its own, which is killed with SIGKILL at random moments. Each time it
begins anew, it makes all transfers again, with the same request ids; those that were made change
nothing. In the end all the money is there, and each transfer was made once.
"""

import asyncio
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from everstep import Actor, HandlerFailed, Runtime, Server, handler

ACCOUNTS = ["ann", "bob", "cid", "dan", "eve"]
START = 100
TRANSFERS = 60
KILLS = 5


class Account(Actor):
    balance: int = START

    @handler
    async def withdraw(self, amount: int) -> int:
        if amount > self.balance:
            raise ValueError("not enough money")
        self.balance -= amount
        return self.balance

    @handler
    async def deposit(self, amount: int) -> int:
        self.balance += amount
        return self.balance

    @handler(readonly=True)
    async def look(self) -> int:
        return self.balance


async def transfer(payer: Server[Account], payee: Server[Account], amount: int, name: str) -> bool:
    """Move the money, once for each name; whether there was enough of it."""
    try:
        await payer.ask(Account.withdraw, amount, request_id=f"{name} out")
    except HandlerFailed:
        return False
    await payee.ask(Account.deposit, amount, request_id=f"{name} in")
    return True


def orders() -> list[tuple[str, str, int]]:
    """Who pays whom how much: the same in every process."""
    chance = random.Random(7)
    made: list[tuple[str, str, int]] = []
    for _ in range(TRANSFERS):
        payer, payee = chance.sample(ACCOUNTS, 2)
        made.append((payer, payee, chance.randint(1, 60)))
    return made


async def tell(path: Path) -> None:
    """Make all transfers, one after the other; what is made already is only heard again."""
    async with Runtime(path) as runtime:
        for number, (payer, payee, amount) in enumerate(orders()):
            giving, taking = runtime.get(Account, payer), runtime.get(Account, payee)
            await transfer(giving, taking, amount, f"t{number}")
            print(number, flush=True)


def killed_somewhere(path: Path, chance: random.Random) -> bool:
    """Run a teller and kill it after some transfers; False where it came to its end before."""
    command = [sys.executable, __file__, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as teller:
        assert teller.stdout is not None
        for _ in range(chance.randint(0, TRANSFERS)):
            teller.stdout.readline()
        teller.send_signal(signal.SIGKILL)
        return teller.wait() == -signal.SIGKILL


async def balances(path: Path) -> dict[str, int]:
    """What everybody has in the end."""
    async with Runtime(path) as runtime:
        return {name: await runtime.get(Account, name).ask(Account.look) for name in ACCOUNTS}


def expected() -> dict[str, int]:
    """What everybody must have."""
    money = dict.fromkeys(ACCOUNTS, START)
    for payer, payee, amount in orders():
        if amount <= money[payer]:
            money[payer] -= amount
            money[payee] += amount
    return money


def main(path: Path, kills: int, chance: random.Random) -> dict[str, int]:
    """Kill tellers, let one come to its end; the balances that are left."""
    killed = sum(killed_somewhere(path, chance) for _ in range(kills))
    asyncio.run(tell(path))
    found = asyncio.run(balances(path))
    print(f"{killed} tellers were killed; {found}: {sum(found.values())} in all")
    return found


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(tell(Path(sys.argv[1])))
    else:
        with tempfile.TemporaryDirectory() as folder:
            assert main(Path(folder) / "bank.db", KILLS, random.Random()) == expected()
