"""The parameters of a step: a call's arguments by name, without what is a default."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

__all__ = ["Parameters"]

_MISSING: Final = inspect.Parameter.empty
_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_SPREAD: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_IMMUTABLE: Final = (str, int, float, bool, type(None), bytes)


class Parameters:
    """The parameters of a step, without the actor itself."""

    __slots__ = ("_by_name", "_defaults", "_named", "_needed", "_plain", "_signature", "names",
                 "required")  # fmt: skip

    def __init__(self, signature: inspect.Signature | None) -> None:
        """None: nothing is known (a builtin), so arguments are named by their position."""
        parameters = list(signature.parameters.values()) if signature else []
        self._signature = signature
        self.names = tuple(p.name for p in parameters if p.kind not in _SPREAD)
        self._plain = tuple(p.name for p in parameters if p.kind in _POSITIONAL)
        self._defaults = {p.name: p.default for p in parameters if p.default is not _MISSING}
        self._named = any(
            p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is _MISSING for p in parameters
        )
        self._needed = frozenset(name for name in self.names if name not in self._defaults)
        self.required = len(self._needed)
        self._by_name = frozenset(p.name for p in parameters if p.kind in _NAMED)

    @classmethod
    def of(cls, function: Callable[..., Any], skip: int) -> Parameters:
        """Those of `function` after the first `skip`."""
        try:
            signature = inspect.signature(function)
        except (ValueError, TypeError):
            return cls(None)
        parameters = list(signature.parameters.values())
        if parameters and parameters[0].kind in _SPREAD:  # def step(*args): self is in there
            skip = 0
        return cls(signature.replace(parameters=parameters[skip:]))

    def value(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives for one parameter: its default where the call says nothing."""
        if name in kwargs:
            return kwargs[name]
        if name in self._plain:
            place = self._plain.index(name)
            if place < len(args):
                return args[place]
        return self._defaults.get(name)

    def bind(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, without those that equal their default. Raises TypeError."""
        if not args and not kwargs and not self.required:
            return {}
        if self._signature is None:
            return {str(place): value for place, value in enumerate(args)} | kwargs
        given: Iterable[tuple[str, Any]]
        if not args and self._needed <= kwargs.keys() <= self._by_name:
            given = [(name, kwargs[name]) for name in self.names if name in kwargs]
        elif kwargs or self._named or not self.required <= len(args) <= len(self._plain):
            given = self._bind_fully(what, args, kwargs).items()
        else:
            given = zip(self._plain, args, strict=False)
        return {name: value for name, value in given if not self._is_default(name, value)}

    def _bind_fully(
        self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        assert self._signature is not None
        try:
            return dict(self._signature.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise TypeError(f"{what}() {error}") from None

    def _is_default(self, name: str, value: Any) -> bool:
        default = self._defaults.get(name, _MISSING)
        if value is default:
            return True
        alike = type(value) in _IMMUTABLE and type(value) is type(default)
        return alike and bool(value == default)
