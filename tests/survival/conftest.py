from __future__ import annotations

from collections.abc import Iterator

import pytest

from everstep.testing import Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    with Zygote() as zygote:
        yield zygote
