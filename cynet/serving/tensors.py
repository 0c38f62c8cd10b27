"""Tensors of the Open Inference Protocol: JSON or bytes to arrays, and arrays to answers."""

from __future__ import annotations

import functools
import math
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, FormatError, ShapeError, shown
from .bodies import parse_json, require_finite, write_json

if TYPE_CHECKING:
    from ..typing import NumpyArray
    from .models import Model
    from .predictor import Predictor

_DTYPES = {  # datatype of the protocol -> NumPy's dtype
    "BOOL": "bool",
    "UINT8": "u1",
    "UINT16": "<u2",
    "UINT32": "<u4",
    "UINT64": "<u8",
    "INT8": "i1",
    "INT16": "<i2",
    "INT32": "<i4",
    "INT64": "<i8",
    "FP16": "<f2",
    "FP32": "<f4",
    "FP64": "<f8",
    "BF16": "<u2",  # raw bits
}
_DTYPE_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items() if name != "BF16"}
_REFUSED_PARAMETERS = ("shared_memory_region", "classification")  # of unsupported extensions


class Request(NamedTuple):  # parsed inference request
    """A request: arrays by name, and the wanted outputs, each as bytes or as JSON."""

    inputs: dict[str, NumpyArray]
    outputs: dict[str, bool]  # wanted output -> True if sent as bytes. Empty: all outputs
    binary: bool  # whether outputs are binary by default
    id: str | None
    timeout: float | None  # seconds


class RequestInput(NamedTuple):  # one input of a request
    """An input of a request: its array, or the number of its bytes after the JSON text."""

    name: str
    kind: str
    shape: tuple[int, ...]
    size: int
    array: NumpyArray | None


class RequestPlan(NamedTuple):  # request without its binary arrays
    """The parsed JSON of a request, without binary arrays. It is cached if it has no arrays."""

    inputs: list[RequestInput]
    rest: Request  # without the arrays

    @property
    def is_cached(self) -> bool:
        return all(each.array is None for each in self.inputs)


@functools.lru_cache(64)
def datatype(dtype: Any) -> str:
    """Return the protocol's name of a dtype."""
    return _DTYPE_NAMES[np.dtype(dtype).newbyteorder("<")]


def read_plan(head: bytes, predictor: Predictor) -> RequestPlan:
    """Parse the JSON text of a request, without the bytes after it.

    Raises
    ------
    FormatError, ArgumentError, ArgumentTypeError, ShapeError
        No such JSON, or inputs that the network has not; a shape is refused before its data is
        looked at.
    """
    found = _drop_null_values(_require_dict("the body", parse_json(head)))
    request_id = found.get("id")
    if request_id is not None and not isinstance(request_id, str):
        raise ArgumentTypeError(f"id is a text, got {shown(request_id)}")
    settings = _drop_null_values(_require_dict("parameters", found.get("parameters", {})))
    timeout = settings.get("timeout")
    if timeout is not None and (type(timeout) is not int or timeout < 1):
        raise ArgumentError(f"timeout is a positive number of microseconds, got {shown(timeout)}")
    inputs: dict[str, RequestInput] = {}
    for each in _require_list("inputs", found.get("inputs")):
        name = _tensor_name("inputs", each, predictor.shapes)
        if name in inputs:
            raise ArgumentError(f"input '{name}' is given twice")
        inputs[name] = _read_input(name, each, predictor)
    binary = _require_bool("binary_data_output", settings.get("binary_data_output", False))
    outputs: dict[str, bool] = {}
    for each in _require_list("outputs", found.get("outputs", [])):
        name = _tensor_name("outputs", each, [one.name for one in predictor.signature().outputs])
        if name in outputs:
            raise ArgumentError(f"output '{name}' is asked for twice")
        of_it = _tensor_settings(f"output '{name}'", each)
        outputs[name] = _require_bool("binary_data", of_it.get("binary_data", binary))
    rest = Request({}, outputs, binary, request_id, timeout and timeout * 1e-6)
    return RequestPlan(list(inputs.values()), rest)


def fill_in_tensors(plan: RequestPlan, rest: memoryview) -> Request:
    """Complete a plan to a request; `rest` are the bytes of its binary tensors, in order.

    Raises
    ------
    FormatError
        There are too few or too many.
    """
    arrays = {}
    for name, kind, shape, size, array in plan.inputs:
        if array is None:
            if size > len(rest):
                raise FormatError(
                    f"input '{name}' has {size} bytes, {len(rest)} are left of the body"
                )
            array, rest = _array_from_bytes(rest[:size], kind).reshape(shape), rest[size:]
        arrays[name] = array
    if rest:
        raise FormatError(f"{len(rest)} bytes are left behind the tensors")
    return plan.rest._replace(inputs=arrays)


def read_raw_request(body: memoryview, predictor: Predictor) -> Request:
    """Read a request without JSON: its body is the only input; its length gives the number of
    rows."""
    ((name, shape),) = predictor.shapes.items() if len(predictor.shapes) == 1 else [(None, (-1,))]
    if -1 in shape:
        raise ArgumentError("a body without JSON needs a network of one input with a known shape")
    dtype = np.dtype(predictor.signature().inputs[0].dtype).newbyteorder("<")
    row = math.prod(shape) * dtype.itemsize
    if not len(body) or len(body) % row:
        raise ShapeError(f"input '{name}' has {len(body)} bytes, and a row of it {row}")
    return Request({name: np.frombuffer(body, dtype).reshape(-1, *shape)}, {}, True, None, None)


def write_answer(
    model: Model, request: Request, arrays: dict[str, NumpyArray]
) -> tuple[bytes, int | None]:
    """Return (body, length of its JSON text if bytes follow) of an answer."""
    parts, tensors, data = [], [], {}
    for name in request.outputs or arrays:
        array = arrays[name]
        binary = request.outputs.get(name, request.binary)
        tensors.append((name, array.dtype, array.shape, binary))
        if binary:
            parts.append(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
        else:
            refuse_not_finite(f"output '{name}'", array, "as binary data")
            data[name] = array.ravel().tolist()
    if data:
        text = write_json(_json_answer(model.name, model.version, tensors, data, request.id))
    elif request.id is None:
        text = _binary_answer(model.name, model.version, tuple(tensors))
    else:
        text = _binary_answer(model.name, model.version, tuple(tensors))
        text = b'%b, "id": %b}' % (text[:-1], write_json(request.id))
    return b"".join([text, *parts]), len(text) if parts else None


def _json_answer(name, version, tensors, data, request_id=None):
    """Return the JSON of an answer; `data` maps names to values of outputs in JSON."""
    outputs = []
    for output, dtype, shape, binary in tensors:
        tensor = {"name": output, "datatype": datatype(dtype), "shape": list(shape)}
        if binary:
            size = math.prod(shape) * dtype.itemsize
            tensor["parameters"] = {"binary_data_size": size}
        else:
            tensor["data"] = data[output]
        outputs.append(tensor)
    answer = {"model_name": name, "model_version": version, "outputs": outputs}
    return answer if request_id is None else {**answer, "id": request_id}


@functools.lru_cache(256)
def _binary_answer(name, version, tensors):
    """Return the text of an answer with binary outputs only: the same for the same shapes."""
    return write_json(_json_answer(name, version, tensors, {}))


def refuse_not_finite(what: str, array: NumpyArray, instead: str) -> None:
    """Refuse an output that JSON cannot hold."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ArgumentError(
            f"{what} has NaN or infinity for this input, which JSON has not; {instead} it is sent"
        )


def _read_input(name, tensor, predictor):
    what = f"input '{name}'"
    shape = _read_shape(what, tensor.get("shape"))
    predictor.check_shape(name, shape)
    if not shape[0]:
        raise ShapeError(f"{what} has no rows")
    kind = tensor.get("datatype")
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise ArgumentError(
            f"{what} has the datatype {shown(kind)}, expected one of {', '.join(_DTYPES)}"
        )
    size = _tensor_settings(what, tensor).get("binary_data_size")
    if (size is None) == (tensor.get("data") is None):
        raise FormatError(f"{what} has either data or binary_data_size")
    if size is None:
        return RequestInput(name, kind, shape, 0, _decode_json(what, tensor["data"], kind, shape))
    wanted = math.prod(shape) * np.dtype(_DTYPES[kind]).itemsize
    if type(size) is not int or size != wanted:
        raise ShapeError(
            f"{what} has {wanted} bytes by its shape, binary_data_size is {shown(size)}"
        )
    return RequestInput(name, kind, shape, size, None)


def _array_from_bytes(data, kind):
    if kind == "BOOL":
        return np.frombuffer(data, "u1") != 0  # any byte but 0 is True
    array = np.frombuffer(data, _DTYPES[kind])
    return (array.astype("u4") << 16).view("f4") if kind == "BF16" else array


def _decode_json(what, data, kind, shape):
    flat = _flatten_values(what, data, shape)
    types = set(map(type, flat))
    dtype = np.dtype("f8" if kind in ("BF16", "FP16", "FP32", "FP64") else _DTYPES[kind])
    takes = {"b": {bool}, "i": {int}, "u": {int}, "f": {int, float}}[dtype.kind]
    if not types <= takes:
        bad = next(each for each in flat if type(each) not in takes)
        raise ArgumentTypeError(f"{what} of datatype {kind} has the value {shown(bad)}")
    if dtype.kind in "iu":
        least, maximum = np.iinfo(dtype).min, np.iinfo(dtype).max
        for each in (min(flat), max(flat)):
            if not least <= each <= maximum:
                raise ArgumentError(f"{what} of datatype {kind} has the value {shown(each)}")
    try:
        return require_finite(what, np.array(flat, dtype)).reshape(shape)
    except OverflowError:
        raise ArgumentError(f"{what} of datatype {kind} has a number of too many digits") from None


def _flatten_values(what, data, shape):
    """Return a list, which is flat or nested according to the shape, as a flat list."""
    if not isinstance(data, list):
        raise ArgumentTypeError(f"{what} has a list as its data, got {shown(data)}")
    if data and isinstance(data[0], list):
        for axis, length in enumerate(shape[1:], 1):
            if not all(isinstance(each, list) and len(each) == length for each in data):
                raise ShapeError(
                    f"{what} is not nested as its shape {list(shape)} says, at axis {axis}"
                )
            data = list(chain.from_iterable(data))
    count = math.prod(shape)
    if len(data) != count:
        raise ShapeError(f"{what} has {len(data)} values, its shape {list(shape)} has {count}")
    return data


def _require_dict(what, value):
    if not isinstance(value, dict):
        raise FormatError(f"{what} is an object of JSON, got {shown(value)}")
    return value


def _drop_null_values(found):
    """Return an object without null entries, which clients write for omitted ones."""
    return {name: value for name, value in found.items() if value is not None}


def _require_list(what, value):
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise FormatError(f"{what} is a list of objects, got {shown(value)}")
    return value


def _tensor_name(what, tensor, names):
    if not isinstance(name := tensor.get("name"), str) or name not in names:
        raise ArgumentTypeError(f"{what}: the model has no {shown(name)}, only {list(names)}")
    return name


def _tensor_settings(what, tensor):
    found = _drop_null_values(
        _require_dict(f"the parameters of {what}", _drop_null_values(tensor).get("parameters", {}))
    )
    for name in _REFUSED_PARAMETERS:
        if name in found:
            raise ArgumentError(f"{what}: this server has no extension for {name}")
    return found


def _require_bool(name, value):
    if not isinstance(value, bool):
        raise ArgumentTypeError(f"{name} is true or false, got {shown(value)}")
    return value


def _read_shape(what, value):
    if not isinstance(value, list) or not all(type(n) is int and n >= 0 for n in value):
        raise ArgumentTypeError(
            f"{what} has a list of whole numbers as its shape, got {shown(value)}"
        )
    return tuple(value)
