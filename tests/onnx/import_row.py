"""A node of an ONNX file with its inputs, in three forms, for the walk over importers."""

import numpy as np

from tests.onnx.test_import_values import helper, onnx


class K:
    """An input that is a constant of the file."""

    def __init__(self, *values, dtype="float32"):
        whole = len(values) == 1 and isinstance(values[0], np.ndarray)
        self.value = values[0] if whole else np.array(values, dtype)


def ints(*values):
    return K(*values, dtype="int64")


def one(value, dtype="float32"):
    """A number, without axes."""
    return K(np.array(value, dtype))


class Row:
    """A node: its inputs in order (None is left out), what is told of it.

    Parameters
    ----------
    want : list of ndarray, optional
        The outputs, where the runtime does not have the version.
    has, lacks : str
        Operators that the network has, and that it has not, by name.
    lengths : bool
        Whether what is computed depends on the lengths, so that it cannot do with open ones; it is
        an error when they are known.
    """

    def __init__(
        self,
        kind,
        *inputs,
        opset=13,
        outputs=1,
        want=None,
        has="",
        lacks="",
        rtol=1e-4,
        lengths=False,
        **attributes,
    ):
        self.kind, self.inputs, self.attributes = kind, inputs, attributes
        self.opset, self.outputs, self.want = opset, outputs, want
        self.has, self.lacks = has.split(), lacks.split()
        self.rtol, self.lengths = rtol, lengths

    def __repr__(self):
        told = [
            f"{x.dtype.name}{list(x.shape)}"
            if isinstance(x, np.ndarray)
            else "-"
            if x is None
            else f"c{list(x.value.shape)}"
            for x in self.inputs
        ]
        more = {**self.attributes, "opset": self.opset}
        return f"{self.kind}({' '.join(told)} {more})"

    def save(self, path, form):
        """The inputs by name; `form` is "closed", "open" or "inputs"."""
        names, given, graph_inputs, constants = [], {}, [], []
        for n, x in enumerate(self.inputs):
            names.append("" if x is None else f"x{n}")
            if isinstance(x, K) and form != "inputs":
                constants.append(onnx.numpy_helper.from_array(x.value, names[-1]))
            elif x is not None:
                given[names[-1]] = value = x.value if isinstance(x, K) else x
                lengths = [None] * value.ndim if form == "open" else value.shape
                kind = helper.np_dtype_to_tensor_dtype(value.dtype)
                graph_inputs.append(helper.make_tensor_value_info(names[-1], kind, lengths))
        out = [f"y{n}" for n in range(self.outputs)]
        graph = helper.make_graph(
            [helper.make_node(self.kind, names, out, "n", **self.attributes)],
            "g",
            graph_inputs,
            [helper.make_empty_tensor_value_info(n) for n in out],
            constants,
        )
        imports = [helper.make_opsetid("", self.opset)]
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), str(path))
        return given


def rng(*shape, seed=0, dtype="float32", low=-2.0, high=2.0):
    return np.random.RandomState(seed).uniform(low, high, shape).astype(dtype)


M = rng(3, 4)
IMAGES = {n: rng(2, 4, *(7, 8, 6)[:n], seed=n) for n in (1, 2, 3)}


def whole(*shape, low=-4, high=5, dtype="int32", seed=0):
    return np.random.RandomState(seed).randint(low, high, shape).astype(dtype)
