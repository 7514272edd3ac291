"""A stored name means the class that was told, or the only one there is."""

import sys

import pytest

from everstep import Actor, UnknownActor, step
from everstep.supervisor.catalogue import Catalogue


def defined(place: str) -> type[Actor]:
    class Made(Actor, name="catalogue.Made"):
        @step
        async def work(self) -> None: ...

    Made.__qualname__ = f"{place}.Made"
    return Made


def test_a_class_that_was_told_is_the_one_that_is_meant() -> None:
    first, second = defined("one"), defined("two")
    catalogue = Catalogue()

    assert catalogue.get("catalogue.Made") is None
    assert "one.Made" in str(catalogue.ambiguous()["catalogue.Made"])
    catalogue.tell(second)

    assert catalogue.get("catalogue.Made") is second
    assert catalogue.ambiguous().get("catalogue.Made") is None
    assert first is not second


def test_two_classes_of_one_name_are_not_both_told() -> None:
    catalogue = Catalogue([defined("one")])

    with pytest.raises(UnknownActor, match="two classes have this name"):
        catalogue.tell(defined("two"))


def test_of_a_class_that_was_defined_again_the_newest_counts() -> None:
    catalogue = Catalogue([defined("one")])
    again = defined("one")

    catalogue.tell(again)

    assert catalogue.get("catalogue.Made") is again


def test_a_class_that_was_told_means_its_newest_definition_though_nobody_told_that() -> None:
    catalogue = Catalogue()
    catalogue.tell(defined("notebook"))

    again = defined("notebook")

    assert catalogue.get("catalogue.Made") is again
    assert catalogue.known()["catalogue.Made"] is again


def test_only_the_classes_that_were_given_are_known() -> None:
    made = defined("three")

    assert Catalogue([made]).known() == {"catalogue.Made": made}
    assert Catalogue([]).known() == {}


def test_a_class_that_its_module_shows_is_found_without_a_look_at_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown, newer = defined("four"), defined("four")
    shown.__qualname__ = newer.__qualname__ = "Shown"
    catalogue = Catalogue([shown])

    assert catalogue.get("catalogue.Made") is newer
    monkeypatch.setattr(sys.modules[__name__], "Shown", shown, raising=False)
    assert catalogue.get("catalogue.Made") is shown
    monkeypatch.setattr(sys.modules[__name__], "Shown", newer)
    assert catalogue.get("catalogue.Made") is newer
