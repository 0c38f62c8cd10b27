"""What reads the nodes of an ONNX graph: the table of importers, and the state of one reading."""

from __future__ import annotations

import numpy as np

from ..base.compat import optional
from ..base.errors import FormatError, UndefinedError, shown
from ..symbol import Variable
from .shapes import Shapes

IMPORTERS = {}  # kind of a node: function(reader, node) that gives its outputs as symbols
_MOST = 1 << 20  # elements of a value that is computed when the file is read


def imports(*kinds):
    """Decorator: the function reads nodes of these kinds."""

    def put(function):
        IMPORTERS.update(dict.fromkeys(kinds, function))
        return function

    return put


class Node:
    """A node of the file: kind, inputs, attributes."""

    def __init__(self, reader, proto):
        self._reader, self.proto = reader, proto
        self.kind, self.domain = proto.op_type, proto.domain
        self.inputs, self.outputs = list(proto.input), list(proto.output)
        self.name = proto.name or (self.outputs[0] if self.outputs else self.kind)
        helper = reader.library.helper
        self.attributes = {each.name: helper.get_attribute_value(each) for each in proto.attribute}

    def get(self, name, default=None):
        """An attribute; text as str."""
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def refuse(self, why):
        """Raise the error for what cynet cannot compute."""
        raise UndefinedError(f"import_model: {self.kind} '{self.name}': {why}")

    def has(self, i):
        """Whether input i is there."""
        return i < len(self.inputs) and self.inputs[i] != ""

    def constant(self, i, default=None):
        """The value of input i, which must be known when the file is read."""
        if not self.has(i):
            return default
        found = self._reader.constant(self.inputs[i])
        if found is None:
            self.refuse(f"its input {self.inputs[i]} must be a constant")
        return found

    def number(self, i, default):
        """Input i as a number that is known when the file is read."""
        return float(np.ravel(self.constant(i, default))[0])

    def list(self, i, attribute):
        """Integers that newer files give as input i and older ones as an attribute, or None."""
        found = self.constant(i)
        found = self.get(attribute) if found is None else found
        return None if found is None else [int(v) for v in np.ravel(found)]

    def symbol(self, i):
        """Input i as a Symbol."""
        return self._reader.symbol(self.inputs[i])

    def symbols(self):
        """All inputs as Symbols."""
        return [self._reader.symbol(each) for each in self.inputs if each]

    def shape(self, i):
        """The shape of input i where the file tells it whole, or None."""
        return self._reader.shape(self.inputs[i])

    def axes(self, i):
        """How many axes input i has."""
        found = self._reader.rank(self.inputs[i])
        if found is None:
            self.refuse(f"the file does not tell the axes of its input {self.inputs[i]}")
        return found


class Reader:
    """Values of one graph: symbols, constants, shapes.

    Attributes
    ----------
    params : dict of str to ndarray
        What the symbols' variables hold.
    """

    def __init__(self, library, model):
        self.library, graph = library, model.graph
        self.opset = max((o.version for o in model.opset_import if not o.domain), default=1)
        to_array = library.numpy_helper.to_array
        self._constants = {each.name: to_array(each) for each in graph.initializer}
        self.params, self._symbols = {}, {}
        self._shapes = Shapes(library, model)
        for each in graph.input:
            if each.name not in self._constants:
                self._symbols[each.name] = Variable(each.name)

    def constant(self, name):
        """The value of this name, if it is known."""
        return self._constants.get(name)

    def shape(self, name):
        """The whole shape of a value, or None."""
        if name in self._constants:
            return self._constants[name].shape
        found = self._shapes.of(name)
        return None if found is None or None in found else found

    def rank(self, name):
        """How many axes a value has, or None."""
        if name in self._constants:
            return self._constants[name].ndim
        found = self._shapes.of(name)
        return None if found is None else len(found)

    def symbol(self, name):
        """The value of this name as a Symbol; a constant becomes a parameter."""
        if name in self._symbols:
            return self._symbols[name]
        if name not in self._constants:
            raise FormatError(f"import_model: the file uses '{name}' before it is computed")
        return self.parameter(name, self._constants[name])

    def parameter(self, name, values):
        """A variable that holds `values`."""
        values = np.asarray(values)
        if values.ndim == 0:
            values = values.reshape(1)
        if name in self.params and not np.array_equal(self.params[name], values):
            name = next(
                made
                for made in (f"{name}_{i}" for i in range(len(self.params) + 1))
                if made not in self.params
            )
        if name not in self.params:
            self.params[name] = values
            self._symbols.setdefault(name, Variable(name, shape=values.shape))
        return self._symbols[name]

    def put(self, node, made):
        """Note the outputs of a node, and their shapes."""
        self._symbols.update(zip(node.outputs, made))
        self._shapes.infer(node, self._constants)

    def fold(self, node):
        """Compute a node of constants, or a shape that the file tells; whether it was one."""
        if node.domain not in ("", "ai.onnx"):
            return False
        if node.kind == "Constant":
            value = node.attributes.get("value")
            if value is not None:
                if any(n < 0 for n in value.dims):  # NumPy would find a length for it
                    node_shape = shown(list(value.dims))
                    raise FormatError(f"import_model: '{node.name}' has the shape {node_shape}")
                found = self.library.numpy_helper.to_array(value)
            else:
                found = np.asarray(next(iter(node.attributes.values())))
            self._constants[node.outputs[0]] = found
            return True
        if node.kind == "Shape":
            shape = self.shape(node.inputs[0])
            if shape is None:
                return False
            part = slice(node.get("start"), node.get("end"))
            self._constants[node.outputs[0]] = np.array(shape[part], "int64")
            return True
        names = [each for each in node.inputs if each]
        if not names or any(each not in self._constants for each in names):
            return False
        if sum(self._constants[each].size for each in names) > _MOST:
            return False
        reference = optional("onnx.reference", "mx.onnx.import_model")
        helper = self.library.helper
        values = {each: self._constants[each] for each in names}
        kinds = {k: helper.np_dtype_to_tensor_dtype(v.dtype) for k, v in values.items()}
        inputs = [helper.make_tensor_value_info(k, kinds[k], v.shape) for k, v in values.items()]
        outputs = [helper.make_empty_tensor_value_info(each) for each in node.outputs if each]
        graph = helper.make_graph([node.proto], "constant", inputs, outputs)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])
        found = reference.ReferenceEvaluator(made).run(None, values)
        self._constants.update(zip([each for each in node.outputs if each], found))
        return True
