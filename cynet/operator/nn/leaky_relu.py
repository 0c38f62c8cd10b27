"""LeakyReLU: rectifiers with a slope for negative numbers; out has data's shape."""

from math import prod

from ...base.errors import ArgumentError, ShapeError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Enum, Float
from ..precision import Precision
from ..property import merge_shapes
from ..second_order import Rewrite

_HOOKS = GraphHooks(elementwise=True, float32_beside_half=(), draws_in_training_alone=True)


IN_PLACE = (("data", "output"),)  # pairs of arrays that may share memory


class PReLUHooks(GraphHooks):
    """Graph hooks of prelu: it has a channels-last form."""

    def channels_last_form(self, prop, in_shapes, in_types):
        learned = prop.act_type == "prelu" and len(in_shapes[1]) == 1
        return (prop.changed(channels_last=True), [0]) if learned else None


def check_slope_shape(data, gamma):
    """Raise ShapeError unless gamma's axes have length 1 or are adjacent axes of data."""
    fits = len(gamma) <= len(data) and all(not n or g in (0, 1, n) for g, n in zip(gamma, data))
    own = [i for i, g in enumerate(gamma) if g > 1]
    inner = range(own[0], own[-1]) if own else ()
    if not fits or any(gamma[i] == 1 and data[i] > 1 for i in inner):
        raise ShapeError(
            f"gamma has shape {tuple(gamma)}, which is not data's {tuple(data)} with "
            "1 for leading or trailing axes"
        )


def slope_counts(data, gamma):
    """(number of slopes, adjacent elements that share a slope) of prelu."""
    if prod(gamma) == 1:
        return 1, prod(data)
    if len(gamma) == 1:
        return data[1], prod(data[2:])
    last = max(i for i, n in enumerate(gamma) if n != 1)
    return prod(gamma), prod(data[last + 1 :])


class LeakyReLUProperty(KernelProperty, operator="LeakyReLU"):
    """Rectifier with a slope for negative x, by `act_type`.

    - leaky: ``x if x > 0 else slope * x``
    - prelu: the same with a learned slope, the input gamma: one, or one a channel (axis 1); gamma
      of several axes stands before data's first ones, each of length 1 or of data's, and those of
      data's side by side
    - rrelu: the same with a random slope between `lower_bound` and `upper_bound` for each element
      in training, and their mean otherwise
    - elu: ``x if x > 0 else slope * (exp(x) - 1)``
    - selu: ``1.0507 * (x if x > 0 else 1.6733 * (exp(x) - 1))``
    - gelu: ``x`` times the normal distribution function of ``x``
    """

    act_type = Enum(
        ("elu", "gelu", "leaky", "prelu", "rrelu", "selu"), "leaky", doc="The function to apply."
    )
    slope = Float(0.25, doc="Slope of leaky, or scale of elu's negative part.")
    lower_bound = Float(0.125, doc="Bound of the slopes that rrelu draws.")
    upper_bound = Float(0.334, doc="Bound of the slopes that rrelu draws.")

    channels_last = False  # the graph's layout pass sets it to True for prelu
    graph = PReLUHooks(float32_beside_half=(), draws_in_training_alone=True)

    inputs_doc = {"data": "Input of any shape.", "gamma": "Slopes of prelu: (1,), (C,), (N, C) ..."}
    variable_attrs = {"gamma": {"__init__": '["Constant", {"value": 0.25}]'}}
    amp = Precision(float32_where={"act_type": ("elu", "selu")})
    drawn_as = "activation"
    example = """
    >>> mx.nd.LeakyReLU(mx.nd.array([-2, 0, 2]), act_type="leaky", slope=0.1)
    [-0.2  0.   2. ]
    <NDArray 3 @cpu(0)>
    >>> mx.nd.LeakyReLU(mx.nd.array([-2, 0, 2]), act_type="gelu")
    [-0.04550028  0.          1.9544997 ]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.lower_bound > self.upper_bound:
            raise ArgumentError(
                f"operator {self.op_name}: lower_bound {self.lower_bound} is above "
                f"upper_bound {self.upper_bound}"
            )
        if self.act_type not in ("prelu", "rrelu"):
            self.graph = _HOOKS

    def list_arguments(self):
        return ["data", "gamma"] if self.act_type == "prelu" else ["data"]

    def list_outputs(self):
        return ["output", "mask"] if self.act_type == "rrelu" else ["output"]

    def num_visible_outputs(self):
        return 1

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], *out_shapes)
        shapes = [data]
        if self.act_type == "prelu":
            gamma = in_shapes[1]
            if gamma is not None and len(gamma) > 1:
                if data is not None:
                    check_slope_shape(data, gamma)
            elif gamma is not None and len(gamma) != 1:
                raise ShapeError(f"gamma has shape {tuple(gamma)}, expected an axis")
            elif data is not None:
                if len(data) < 2 and gamma != (1,):
                    raise ShapeError(f"data has shape {data}: it has no channels to give slopes to")
                if gamma is None or gamma == (0,):
                    gamma = data[1:2]
                elif gamma[0] != 1 and data[1] and gamma[0] != data[1]:
                    raise ShapeError(
                        f"gamma has shape {tuple(gamma)}, expected (1,) or ({data[1]},)"
                    )
            shapes.append(gamma)
        return shapes, [data] * len(out_shapes), []

    @property
    def forward(self):
        """The kernel of `act_type`."""
        if self.act_type == "prelu":
            return Kernel("sloped", ("data", "data", "gamma"), in_place=IN_PLACE)
        if self.act_type == "rrelu":
            writes = ("output", "mask")
            return Kernel("random_rectifier", writes=writes, in_place=IN_PLACE, draws=True)
        return Kernel(self.act_type, in_place=IN_PLACE)

    @property
    def backward(self):
        """The kernels of `act_type`; gamma's gradient first: data's may overwrite the output's."""
        pair = (("d_output", "d_data"),)
        if self.act_type == "prelu":
            return (
                Kernel("slopes_grad", ("d_output", "data"), ("d_gamma",)),
                Kernel("sloped", ("d_output", "data", "gamma"), ("d_data",), in_place=pair),
            )
        if self.act_type == "rrelu":
            return Kernel("sloped", ("d_output", "data", "mask"), ("d_data",), in_place=pair)
        return Kernel(f"{self.act_type}_grad", ("d_output", "data"), ("d_data",), in_place=pair)

    def kernel_params(self, in_shapes):
        shape = in_shapes[0]
        if self.act_type == "rrelu":  # one random slope per element
            found = {"channels": prod(shape), "inner": 1}
            return {**found, "low": self.lower_bound, "high": self.upper_bound}
        if self.act_type != "prelu":
            return {"number": self.slope}
        if self.channels_last and prod(in_shapes[1]) > 1:
            return {"channels": shape[1], "inner": 1}
        channels, inner = slope_counts(shape, in_shapes[1])
        return {"channels": channels, "inner": inner}

    def compose_outputs(self, F, inputs, aux, training):
        data = inputs[0]
        kind = self.act_type
        if kind == "gelu":
            return [data * (F.erf(data * 0.5**0.5) + 1) * 0.5]
        if kind == "selu":
            scale, alpha = 1.0507009873554805, 1.6732632423543772
            low = F.expm1(F.minimum(data, 0)) * alpha
            return [F.where(data > 0, data, low) * scale]
        if kind == "elu":
            return [F.where(data > 0, data, F.expm1(F.minimum(data, 0)) * self.slope)]
        if kind == "prelu":
            gamma = inputs[1]
            if gamma.size == 1:
                shape = (1,) * data.ndim
            elif gamma.ndim > 1:
                shape = gamma.shape + (1,) * (data.ndim - gamma.ndim)
            else:
                shape = (1, -1) + (1,) * (data.ndim - 2)
            low = F.broadcast_mul(data, gamma.reshape(shape))
            return [F.where(data > 0, data, low)]
        if kind == "leaky":
            slope = self.slope
        else:  # rrelu in training: forward has drawn the slopes
            slope = aux[0] if training else (self.lower_bound + self.upper_bound) / 2
        return [F.where(data > 0, data, data * slope)]

    second_order = Rewrite(compose_outputs)
