"""The examples in docstrings do what they say."""

import doctest
import importlib
import pkgutil

import pytest

import everstep

MODULES = [found.name for found in pkgutil.walk_packages(everstep.__path__, "everstep.")]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])
def test_the_examples_of_a_module_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)

    assert result.failed == 0
