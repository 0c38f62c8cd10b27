"""MixIter: an iterator that mixes the examples of each batch, with soft labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from .base import DataBatch, DataDesc, DataIter
from .wrappers import _check_outer_state, _check_resumable, _flatten_states, _inner_state, _WrapIter

if TYPE_CHECKING:
    from collections.abc import Callable


class MixIter(_WrapIter):
    """Mixes each batch of an iterator with one data and one label array: MixUp or CutMix for
    ``Module.fit``.

    Labels are distributions, (N, classes), as ``mx.sym.SoftmaxOutput`` and the metric
    ``mx.metric.CrossEntropy`` take them; validation needs the plain iterator and can have metrics
    of its own (``fit(eval_data=..., validation_metric="acc")``).

    Parameters
    ----------
    data_iter : DataIter
        Iterator whose batches are mixed.
    mixing : MixUp or CutMix
        A mixing of ``mx.gluon.data``, or any object with ``mix(data, label)`` and a number of
        ``classes``.

    Raises
    ------
    ArgumentError
        The iterator has several data or label arrays.
    ArgumentTypeError
        `mixing` cannot mix.

    Examples
    --------
    >>> inner = mx.io.NDArrayIter(mx.nd.ones((6, 4)), mx.nd.array([0, 1, 2] * 2), batch_size=3)
    >>> mixed = MixIter(inner, mx.gluon.data.MixUp(classes=3))
    >>> mixed.provide_data[0].shape, mixed.provide_label[0].shape
    ((3, 4), (3, 3))
    >>> state = mixed.state_dict()
    >>> [batch.label[0].shape for batch in mixed]
    [(3, 3), (3, 3)]
    >>> mixed.load_state_dict(state)  # training resumes at this place
    """

    def __init__(self, data_iter: DataIter, mixing: Any) -> None:
        if not callable(getattr(mixing, "mix", None)) or not hasattr(mixing, "classes"):
            raise ArgumentTypeError(
                f"MixIter: mixing must be a MixUp or CutMix of mx.gluon.data, got {shown(mixing)}"
            )
        for name in ("data", "label"):
            found = getattr(data_iter, f"provide_{name}")
            if len(found or ()) != 1:
                raise ArgumentError(
                    f"MixIter: the iterator must have one {name} array, found {shown(found)}"
                )
        super().__init__(data_iter.batch_size)
        self.data_iter, self.mixing = data_iter, mixing
        self.current_batch = None

    @property
    def provide_data(self) -> list[DataDesc]:
        """Return the DataDesc of the mixed data; integers become float32."""
        found = []
        for each in self.data_iter.provide_data:
            each = each if isinstance(each, DataDesc) else DataDesc(*each)
            mixed = np.float32 if np.dtype(each.dtype).kind in "iub" else each.dtype
            found.append(DataDesc(each.name, each.shape, mixed, each.layout))
        return found

    @property
    def provide_label(self) -> list[DataDesc]:
        """Return the DataDesc of the soft label, (N, classes)."""
        label = self.data_iter.provide_label[0]
        return [DataDesc(label[0], (label[1][0], self.mixing.classes))]

    def reset(self) -> None:
        self.data_iter.reset()

    @property
    def state_dict(self) -> Callable[[], dict[str, Any]]:
        """Return the inner iterator's position; only if that has ``state_dict``."""
        _check_resumable([self.data_iter], "MixIter")
        return lambda: _flatten_states([self.data_iter.state_dict()])

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at the position from `state_dict`.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.
        """
        _check_resumable([self.data_iter], "MixIter")
        _check_outer_state(state, "MixIter", 1)
        self.data_iter.load_state_dict(_inner_state(state, 0))
        self.current_batch = None

    def iter_next(self) -> bool:
        try:
            batch = self.data_iter.next()
        except StopIteration:
            return False
        if len(batch.data) != 1 or len(batch.label or ()) != 1:
            raise ShapeError(
                f"MixIter: a batch must have one data and one label array, found {len(batch.data)}"
                f" and {len(batch.label or ())}"
            )
        data, label = self.mixing.mix(batch.data[0], batch.label[0])
        self.current_batch = DataBatch([data], [label], batch.pad, batch.index)
        return True
