"""Checks of names, shapes, iterators and callbacks, before a module starts its work."""

import difflib
import numbers
from collections.abc import Sequence

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, listed, shown, warn_user
from ..callback import FitCallback
from ..io import DataDesc, DataIter, NDArrayIter
from ..ndarray import NDArray, array


def is_array_like(value):
    """Return whether `mx.nd.array` accepts an object: an array of any package, a DataFrame, a SciPy
    matrix, numbers in lists and other sequences."""
    if isinstance(value, (np.ndarray, NDArray)) or hasattr(value, "tocsr"):
        return True
    if hasattr(value, "__array__") and not isinstance(value, type):
        return True
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, list, tuple)):
        # for example a column of a data set
        return len(value) > 0 and (isinstance(value[0], numbers.Real) or is_array_like(value[0]))
    depth = 0
    while isinstance(value, (list, tuple)) and value:
        value, depth = value[0], depth + 1
    return depth > 0 and isinstance(value, numbers.Real)


def to_iterator(module, where, name, data, shuffle=False, batch_size=None, keeps=False):
    """Convert arrays, or a pair (data, label), to an iterator; return an iterator unchanged.

    Its batches have `batch_size` rows, by default as many as the module is bound to, else 32. With
    `keeps` the module stays bound as it is, and another size is refused.
    """
    if batch_size is not None:
        check_batch_size(where, batch_size)
    pair = isinstance(data, (list, tuple)) and len(data) == 2
    if not pair or not all(map(is_array_like, data)):
        check_iterator(where, name, data)
        if where != "fit" or name == "train_data":
            refuse_batch_size(where, name, batch_size)
        return data
    inputs, labels = module.data_names, getattr(module, "label_names", ["softmax_label"])
    if len(inputs) != 1 or len(labels) != 1:
        raise ArgumentTypeError(
            f"{where}: {name} is a pair of arrays, but the module has the inputs {inputs} and the"
            f" labels {labels}; make an iterator with mx.io.NDArrayIter"
        )
    data = [each if hasattr(each, "tocsr") else array(each) for each in data]
    bound_size = module.data_shapes[0].shape[0] if module.binded else None
    if keeps and bound_size is not None and batch_size not in (None, bound_size):
        raise ArgumentError(
            f"{where}: batch_size is {batch_size}, and the module is bound to batches of"
            f" {bound_size} rows; force_rebind=True binds it anew"
        )
    size = batch_size or bound_size or min(32, max(data[0].shape[0], 1))
    return NDArrayIter(*data, size, shuffle, data_name=inputs[0], label_name=labels[0])


def check_batch_size(where, batch_size):
    """Refuse a batch size that is not a positive int."""
    if isinstance(batch_size, bool) or not isinstance(batch_size, (int, np.integer)):
        raise ArgumentTypeError(f"{where}: batch_size must be an int, got {shown(batch_size)}")
    if batch_size < 1:
        raise ArgumentError(f"{where}: batch_size must be at least 1, got {batch_size}")


def refuse_batch_size(where, name, batch_size):
    """Refuse a batch size together with an iterator."""
    if batch_size is not None:
        raise ArgumentTypeError(
            f"{where}: batch_size={batch_size} is for arrays; {name} is an iterator, with its own"
        )


def check_iterator(where, name, data):
    """Refuse an object that is not an iterator; the message suggests an iterator.

    where, name (str): The method and its argument, for the message.
    data (DataIter): Or anything with ``provide_data`` that can be iterated.
    """
    if isinstance(data, DataIter) or (hasattr(data, "provide_data") and hasattr(data, "__iter__")):
        return
    example = "NDArrayIter(data, label, batch_size)"
    wanted = "a DataIter or a pair of arrays" if where in ("fit", "score") else "a DataIter"
    if where == "predict":  # labels are not needed
        example = f"NDArrayIter({name}, batch_size=batch_size)"
    elif isinstance(data, (list, tuple)) and len(data) == 2:
        example = f"NDArrayIter({name}[0], {name}[1], batch_size)"
    elif hasattr(data, "shape"):
        example = f"NDArrayIter({name}, label, batch_size)"
    hint = ""
    pair = isinstance(data, (list, tuple)) and len(data) == 2
    if where in ("fit", "score") and not pair and is_array_like(data):
        metric = "" if where == "fit" else ", eval_metric"
        hint = f"; data and labels are one argument, a pair: {where}((data, labels){metric})"
    raise ArgumentTypeError(
        f"{where}: {name} must be {wanted}, got {type(data).__name__}{hint}; make one of arrays"
        f" with mx.io.{example}"
    )


def check_callbacks(where, **callbacks):
    """Refuse objects that are not callable, and call the callbacks' own checks.

    A callback may have a method ``check_before_training()``, which raises an error; those that
    save checkpoints look for their folder.
    """
    for name, given in callbacks.items():
        for callback in callback_list(given):
            if not callable(callback):
                raise ArgumentTypeError(
                    f"{where}: {name} must be a function or a list of functions, got"
                    f" {type(callback).__name__}"
                )
            check = getattr(callback, "check_before_training", None)
            if check is not None:
                check()


def check_fit_callbacks(where, callbacks):
    """Refuse objects that are not FitCallbacks; call the checks of callbacks that save files."""
    for each in callbacks:
        if isinstance(each, type) or not isinstance(each, FitCallback):
            raise ArgumentTypeError(
                f"{where}: callbacks takes FitCallbacks, as mx.callback.EarlyStopping('accuracy'),"
                f" got {shown(each)}; functions are batch_end_callback or epoch_end_callback"
            )
        check = getattr(each, "check_before_training", None)
        if check is not None:
            check()


def check_monitor(where, monitor):
    """Refuse an object that is not a Monitor."""
    if not all(hasattr(monitor, name) for name in ("install", "tic", "toc_print")):
        raise ArgumentTypeError(
            f"{where}: monitor must be a Monitor, as mx.mon.Monitor(100), got"
            f" {type(monitor).__name__}"
        )


def callback_list(value):
    """Convert None, one callback, or a list of callbacks to a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def call_each(callbacks, param):
    """Call a callback, or each callback of a list; None means no callback."""
    for callback in callback_list(callbacks):
        callback(param)


def checked_name_list(what, given):
    """Convert the names given to a Module to a list; refuse a single str."""
    if isinstance(given, str):
        raise ArgumentTypeError(f"Module: {what} must be a list of names, got {shown(given)}")
    return list(given or ())


def _check_input_names(symbol, names, typename, throw):
    """Raise for names that are not arguments of the symbol, or only warn without `throw`."""
    arguments = dict.fromkeys(symbol.list_arguments())
    for name in names:
        if name in arguments:
            continue
        of_params = ("_weight", "_bias", "_gamma", "_beta")
        inputs = [each for each in arguments if not each.endswith(of_params)]
        near = difflib.get_close_matches(name, arguments, 1)
        meant = f" (did you mean '{near[0]}'?)" if near else ""
        message = (
            f"{typename}_names=[{listed(names)}]: the symbol has no argument {shown(name)}{meant}."
            f" Inputs that are not parameters by their names: {listed(inputs) or '(none)'}"
        )
        if throw:
            raise ArgumentError(message)
        warn_user(message)


def _check_names_match(data_names, data_shapes, name, throw):
    given = [desc[0] for desc in data_shapes]
    if sorted(data_names) != sorted(given):
        message = (
            f"{name}_shapes are of [{listed(given)}], but the module was made with {name}_names ="
            f" [{listed(data_names)}]"
        )
        if throw:
            raise ArgumentError(message)
        warn_user(message)


def _parse_data_desc(data_names, label_names, data_shapes, label_shapes):
    """Make DataDescs from descriptions or pairs (name, shape), checked against the names.

    Returns (list of DataDesc, list of DataDesc or None).
    """
    data_shapes = _data_descriptions("data_shapes", data_shapes)
    _check_names_match(data_names, data_shapes, "data", True)
    if not label_shapes:
        return data_shapes, None
    label_shapes = _data_descriptions("label_shapes", label_shapes)
    _check_names_match(label_names, label_shapes, "label", False)
    return data_shapes, label_shapes


def _data_descriptions(what, shapes):
    if not isinstance(shapes, (list, tuple)):
        raise ArgumentTypeError(f"{what} must be a list of (name, shape), got {shown(shapes)}")
    found = []
    for each in shapes:
        if not isinstance(each, DataDesc):
            if (
                not isinstance(each, (list, tuple))
                or len(each) < 2
                or not isinstance(each[1], (list, tuple))
            ):
                raise ArgumentTypeError(f"{what}: expected (name, shape), found {shown(each)}")
            each = DataDesc(*each)
        found.append(each)
    return found
