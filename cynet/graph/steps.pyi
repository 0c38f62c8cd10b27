"""Types of steps.pyx."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..context import Context

class Value:
    name: str
    shape: tuple[int, ...]
    dtype: str
    ctx: Context
    kind: str
    offset: int
    channels_last: bool
    root: Value
    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: str,
        ctx: Context,
        kind: str = "temp",
        channels_last: bool = False,
    ) -> None: ...
    def __copy__(self) -> Value: ...

class Step:
    name: str
    prop: Any
    ctx: Context
    direction: str
    in_data: list[Value]
    out_data: list[Value]
    aux: list[Value]
    req: list[int]
    out_grad: list[Value]
    in_grad: list[Value | None]
    origin: Step | None
    attrs: dict[str, str]
    cached: Any
    members: Sequence[Any]
    algorithms: dict[str, Any]
    def __init__(
        self,
        name: str,
        prop: Any,
        ctx: Context,
        direction: str,
        in_data: Iterable[Value | None],
        out_data: Iterable[Value | None],
        aux: Iterable[Value],
        req: Iterable[int],
        out_grad: Iterable[Value | None] = (),
        in_grad: Iterable[Value | None] = (),
        origin: Step | None = None,
        attrs: dict[str, str] | None = None,
    ) -> None: ...
    def __copy__(self) -> Step: ...
    def written(self) -> list[tuple[int, Value]]: ...
    def read(self) -> list[Value]: ...
    def touched_values(self) -> list[Value]: ...
