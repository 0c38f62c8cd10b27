"""Labels of a symbol: the inputs that are labels, and the range of class labels."""

from typing import NamedTuple

import numpy as np

from ..base.errors import ArgumentError
from ..io import NDArrayIter
from ..symbol.node import topological_order


def label_inputs(symbol):
    """Return the names of the arguments that are labels by default.

    Those that no output depends on, because only losses read them, in backward; and those whose
    names end with ``label``, which a loss written in Python may have.
    """
    read, stack = set(), [head for head, _ in symbol.entries]
    while stack:
        node = stack.pop()
        if id(node) in read:
            continue
        read.add(id(node))
        spared = () if node.op is None else node.prop.graph.traits.loss_labels
        stack += [source for i, (source, _) in enumerate(node.inputs) if i not in spared]
    arguments = set(symbol.list_arguments())
    return {
        node.name
        for node in topological_order(symbol.entries)
        if node.op is None
        and node.name in arguments
        and (id(node) not in read or node.name.endswith("label"))
    }


class ClassLimit(NamedTuple):  # number of classes that an output has
    """The number of classes of an output, which limits the values of its label.

    label, output (str): Names of the label and of the output that it is compared with.
    classes: int
    shape (tuple of int): Of the output; a label of the same shape holds probabilities.
    ignored (float or None): A label that does not count.
    """

    label: str
    output: str
    classes: int
    shape: tuple
    ignored: float | None

    def check_labels(self, values):
        """Refuse labels, a NumPy array, that are not below the number of classes.

        Negative ones pass: what pads a sequence is often -1, and MXNet trains with it.
        """
        if values.size == 0 or values.shape[1:] == self.shape[1:]:
            return
        maximum = values.max()
        if not maximum >= self.classes:
            return
        if self.ignored is not None:
            maximum = np.max(values, initial=-1, where=values != self.ignored)
            if not maximum >= self.classes:
                return
        raise ArgumentError(
            f"label '{self.label}' has values up to {maximum:g}, but output '{self.output}' of"
            f" shape {self.shape} has {self.classes} classes, 0 to {self.classes - 1}; does the"
            f" layer in front of the loss need {maximum + 1:g} outputs (num_hidden), or are labels"
            " wrong?"
        )


def class_limits(symbol, output_shapes):
    """Return the ClassLimit of each output of a classification loss whose label is an argument.

    symbol: Symbol
    output_shapes (list of (str, tuple)): Names and shapes of the outputs.
    """
    limits = []
    for (node, index), (output, shape) in zip(symbol.entries, output_shapes):
        if node.op is None or index or not node.prop.label_names_classes:
            continue
        label, prop = node.inputs[1][0], node.prop
        if label.op is not None:
            continue
        axis = 1 if getattr(prop, "multi_output", False) else len(shape) - 1
        flat = not (getattr(prop, "multi_output", False) or getattr(prop, "preserve_shape", True))
        ignored = prop.ignore_label if getattr(prop, "use_ignore", False) else None
        classes = int(np.prod(shape[1:])) if flat else shape[axis]
        limits.append(ClassLimit(label.name, output, classes, tuple(shape), ignored))
    return limits


def make_label_check(limits, names, train_data):
    """Make a function that checks the labels of a batch against `limits`, or return None.

    None, too, for an iterator over arrays, whose labels are all looked at here and now.

    limits: list of ClassLimit
    names (list of str): Of a batch's labels.
    train_data: DataIter
    """
    if limits and isinstance(train_data, NDArrayIter):
        _check_labels(limits, dict(train_data.label))
        return None

    def check_batch(batch):
        _check_labels(limits, dict(zip(names, getattr(batch, "label", None) or ())))

    return check_batch if limits else None


def _check_labels(limits, labels):
    for limit in limits:
        label = labels.get(limit.label)
        if label is not None:
            limit.check_labels(label.asnumpy() if hasattr(label, "asnumpy") else np.asarray(label))
