"""Calls of functions of mx.np whose MXNet operator has other parameters: for each function a
converter to the operator's name, inputs and parameters; None if a call has no equivalent."""

import operator as python

from ..symbol import Symbol


def _split_converter(name, own_axis):
    def convert(path, given):  # -> (operator, inputs, parameters)
        parts = given["indices_or_sections"]
        axis = given["axis"] if own_axis is None else own_axis
        params = {"axis": axis, "squeeze_axis": False}
        if hasattr(parts, "__index__"):
            params |= {"indices": "[]", "sections": python.index(parts)}
        else:
            params |= {"indices": [0, *map(python.index, parts)], "sections": 0}
        return name, [given["ary"]], params

    return convert


def _where_to_operator(path, given):
    condition, x, y = (given[key] for key in ("condition", "x", "y"))
    symbols = isinstance(x, Symbol), isinstance(y, Symbol)
    if x is None or y is None:
        return None
    if all(symbols):
        return "_npi_where", [condition, x, y], {}
    numbers = type(x) in (int, float), type(y) in (int, float)  # an integer stays an integer
    if symbols[0] and numbers[1]:
        return "_npi_where_rscalar", [condition, x], {"scalar": y}
    if symbols[1] and numbers[0]:
        return "_npi_where_lscalar", [condition, y], {"scalar": x}
    if all(numbers):
        return "_npi_where_scalar2", [condition], {"x": x, "y": y}
    return None


def _tensordot_to_operator(path, given):
    axes, arrays = given["axes"], [given["a"], given["b"]]
    if not all(isinstance(each, Symbol) for each in arrays):
        return None
    if hasattr(axes, "__index__"):
        return "_npi_tensordot_int_axes", arrays, {"axes": axes}
    a, b = ((n,) if hasattr(n, "__index__") else tuple(n) for n in axes)
    return "_npi_tensordot", arrays, {"a_axes_summed": a, "b_axes_summed": b}


def _einsum_to_operator(path, given):
    arrays = list(given["operands"])
    if not all(isinstance(each, Symbol) for each in arrays):
        return None
    params = {"subscripts": given["subscripts"], "num_args": len(arrays), "optimize": 0}
    return "_npi_einsum", arrays, params


def _full_like_converter(value):
    def convert(path, given):  # -> (operator, inputs, parameters)
        more = {} if given.get("dtype") is None else {"dtype": given["dtype"]}
        return "_npi_full_like", [given["a"]], {"fill_value": value, **more}

    return convert


def _arange_to_operator(path, given):
    start, stop, dtype = given["start"], given["stop"], given["dtype"]
    start, stop = (0, start) if stop is None else (start, stop)
    dtype = "float32" if dtype is None else dtype
    return "_npi_arange", [], {"start": start, "stop": stop, "step": given["step"], "dtype": dtype}


def _identity_to_operator(path, given):
    dtype = "float32" if given["dtype"] is None else given["dtype"]
    return "_npi_identity", [], {"shape": (given["n"], given["n"]), "dtype": dtype}


def _ravel_to_operator(path, given):
    return "_npx_reshape", [given["x"]], {"newshape": -1}


def _norm_to_operator(path, given):
    ord, axis = given["ord"], given["axis"]
    flag = -2 if ord is None and axis is None else -1
    if ord in ("fro", "nuc") or (ord is None and axis is not None):
        flag, ord = (2 if ord == "nuc" else 1), 2
    elif isinstance(axis, (tuple, list)) and len(axis) == 2:
        return None
    axis = (axis,) if hasattr(axis, "__index__") else axis
    params = {"ord": 2 if ord is None else ord, "axis": axis, "keepdims": given["keepdims"]}
    return "_npi_norm", [given["x"]], {**params, "flag": flag}


def _unary_converter(name):
    return lambda path, given: (name, [given["a"]], {})


def _average_to_operator(path, given):
    weights = given["weights"]
    if given["keepdims"] or not (weights is None or isinstance(weights, Symbol)):
        return None
    inputs = [given["a"]] if weights is None else [given["a"], weights]
    params = {"axis": given["axis"], "returned": given["returned"]}
    return "_npi_average", inputs, {**params, "weighted": weights is not None}


def _pad_to_operator(path, given):
    modes = ("constant", "edge", "reflect", "symmetric", "maximum", "minimum")
    mode, width = given.get("mode", "constant"), given["pad_width"]
    if mode not in modes or not set(given) <= {"array", "pad_width", "mode", "constant_values"}:
        return None
    if hasattr(width, "__index__"):
        width = (width, width)
    nested = not all(hasattr(each, "__index__") for each in width)
    width = tuple(map(tuple, width)) if nested else tuple(width)
    params = {"pad_width": width, "mode": mode, "constant_value": given.get("constant_values", 0)}
    return "_npi_pad", [given["array"]], params


def _polyval_to_operator(path, given):
    arrays = [given["p"], given["x"]]
    return ("_npi_polyval", arrays, {}) if all(isinstance(a, Symbol) for a in arrays) else None


def _ediff1d_to_operator(path, given):
    inputs, params = [given["ary"]], {}
    for name in ("to_begin", "to_end"):
        value = given[name]
        array = isinstance(value, Symbol)
        if array:
            inputs.append(value)
        elif value is not None and not isinstance(value, (int, float)):
            return None
        params |= {f"{name}_arr_given": array, f"{name}_scalar": None if array else value}
    return "_npi_ediff1d", inputs, params


def _params_for_index(where):
    if isinstance(where, slice):
        return {"start": where.start, "stop": where.stop, "step": where.step}
    return {"int_ind": where.__index__()} if hasattr(where, "__index__") else None


def _delete_to_operator(path, given):
    where = _params_for_index(given["obj"])
    return where and ("_npi_delete", [given["arr"]], {**where, "axis": given["axis"]})


def _insert_to_operator(path, given):
    where, value = _params_for_index(given["obj"]), given["values"]
    if where is None or not isinstance(value, (Symbol, int, float)):
        return None
    name = "_npi_insert_scalar" if "int_ind" in where else "_npi_insert_slice"
    params = {**where, "axis": given["axis"]}
    if isinstance(value, Symbol):
        return name, [given["arr"], value], params
    return name, [given["arr"]], {**params, "val": value}


def _append_to_operator(path, given):
    arrays = [given["arr"], given["values"]]
    if not all(isinstance(each, Symbol) for each in arrays):
        return None
    return "_npi_concatenate", arrays, {"axis": given["axis"], "num_args": 2}


def _inner_to_operator(path, given):
    return _tensordot_to_operator(path, {**given, "axes": (-1, -1)})


def _vector_product_converter(axes):
    def convert(path, given):  # -> (operator, inputs, parameters)
        arrays = [given["a"], given["b"]]
        if not all(isinstance(each, Symbol) for each in arrays):
            return None
        a, b = (each.as_np_ndarray().reshape(-1) for each in arrays)
        return "_npi_tensordot_int_axes", [a, b], {"axes": axes}

    return convert


def _take_to_operator(path, given):
    a, indices = given["a"], given["indices"]
    if not (isinstance(a, Symbol) and isinstance(indices, Symbol)):
        return None
    flat = given["axis"] is None
    params = {"axis": 0 if flat else given["axis"], "mode": given["mode"]}
    return "_npi_take", [a.as_np_ndarray().reshape(-1) if flat else a, indices], params


CALL_CONVERTERS = {  # function -> converter of its calls
    "np.split": _split_converter("_npi_split", None),
    "np.array_split": _split_converter("_npi_split", None),
    "np.vsplit": _split_converter("_npi_split", 0),
    "np.hsplit": _split_converter("_npi_hsplit", 1),
    "np.dsplit": _split_converter("_npi_dsplit", 2),
    "np.where": _where_to_operator,
    "np.tensordot": _tensordot_to_operator,
    "np.einsum": _einsum_to_operator,
    "np.zeros_like": _full_like_converter(0),
    "np.ones_like": _full_like_converter(1),
    "np.arange": _arange_to_operator,
    "np.identity": _identity_to_operator,
    "np.ravel": _ravel_to_operator,
    "np.linalg.norm": _norm_to_operator,
    "np.diag_indices_from": lambda path, given: ("_npi_diag_indices_from", [given["arr"]], {}),
    "np.linalg.det": _unary_converter("_npi_det"),
    "np.linalg.slogdet": _unary_converter("_npi_slogdet"),
    "np.average": _average_to_operator,
    "np.pad": _pad_to_operator,
    "np.polyval": _polyval_to_operator,
    "np.ediff1d": _ediff1d_to_operator,
    "np.delete": _delete_to_operator,
    "np.insert": _insert_to_operator,
    "np.append": _append_to_operator,
    "np.take": _take_to_operator,
    "np.inner": _inner_to_operator,
    "np.outer": _vector_product_converter(0),
    "np.vdot": _vector_product_converter(1),
}
