"""Types of every kind that a value may have, and instances that break their rules."""

import dataclasses
import enum
from datetime import UTC, date, datetime
from typing import Annotated, Any, Generic, Literal, NamedTuple, NotRequired, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel, Field, PrivateAttr, RootModel, field_serializer
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict

T = TypeVar("T")
NAN = float("nan")
BERLIN = ZoneInfo("Europe/Berlin")


class Colour(enum.Enum):
    RED = "red"
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Word(enum.StrEnum):
    HI = "hi"


class Name(str):
    __slots__ = ()


class Point(BaseModel):
    x: int
    y: int = 0


class Far(Point):
    z: int = 9


class Twin(BaseModel):
    x: int
    y: int = 0


class Ratio(BaseModel):
    value: float


class Hidden(BaseModel):
    shown: int = 1
    hidden: int = Field(default=2, exclude=True)


class Aliased(BaseModel):
    value: int = Field(alias="theValue")


class Secretive(BaseModel):
    _cache: dict[str, int] = PrivateAttr(default_factory=dict)


class Lossy(BaseModel):
    text: str

    @field_serializer("text")
    def shorten(self, text: str) -> str:
        return text[:3]


class Tree(BaseModel):
    value: int
    children: list["Tree"] = []


class Box(BaseModel, Generic[T]):
    content: T


class Holder(BaseModel):
    anything: Any = None
    point: Point | None = None


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    lives: int = 1


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Tags(RootModel[list[str]]):
    pass


@dataclasses.dataclass
class Plain:
    a: int
    b: list[str] = dataclasses.field(default_factory=list[str])


@dataclasses.dataclass
class Computed:
    a: int
    twice: int = dataclasses.field(init=False, default=0)


def unchecked(model: type[BaseModel], **fields: Any) -> BaseModel:
    return model.model_construct(**fields)


def computed(a: int, twice: int) -> Computed:
    value = Computed(a)
    value.twice = twice
    return value


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    when: datetime
    quiet: int = dataclasses.field(default=0, compare=False)


@pydantic_dataclass
class Checked:
    a: int


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Pair(NamedTuple):
    left: int
    right: str = ""


class Rich(BaseModel):
    """Has every type of which columns can tell."""

    number: int = 1
    text: str | None = None
    share: float = 0.5
    flag: bool = False
    day: date = date(2024, 1, 1)
    when: datetime = datetime(2024, 1, 1, tzinfo=UTC)
    key: UUID = UUID(int=1)
    points: dict[str, list[Point]] = {}
    plain: Any = None
    inner: "Rich | None" = None
