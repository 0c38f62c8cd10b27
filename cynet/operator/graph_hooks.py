"""GraphHooks: the methods through which graph passes, and the code around an operator, query it.

An author of operators needs none of this: every hook has an answer that is right for any operator.
A property that has more to say carries hooks of its own, ``graph = MyHooks(elementwise=True)``.
Hooks have no state: one object serves all instances of a property, which each method is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..typing import Shape
    from .algorithms import Choice
    from .elementwise_loop import Loop
    from .tensor.strided_moves import StridedPart

Prop: TypeAlias = Any  # an OperatorProperty of the class that these hooks are for
Shapes: TypeAlias = "Sequence[Shape]"  # of an operator's inputs or outputs
Types: TypeAlias = "Sequence[str]"  # dtypes of an operator's inputs

# Kinds of epilogues for `GraphHooks.epilogue`: computations that an operator also does.
ACTIVATION = "activation"  # output 0 is act(output)
RESIDUAL = "residual"  # output 0 is act(output + another input, the last)
SUM = "sum"  # output 0 is act(output + old value): forward is always requested to add
# the gradient of input 0 is multiplied by the gradient of the relu that computed input 0
GRAD_MASK = "mask"  # in_grad 0 is multiplied by the gradient of the relu that made input 0, too
GRAD_MASKED = "masked"  # out_grad 0 is already multiplied by the gradient of this operator's relu


@dataclass(frozen=True)
class Traits:  # what graph passes know of an operator
    """Facts about an operator that hold for all shapes and types.

    elementwise (bool): All inputs and outputs have one shape, and element i of an output depends on
        the elements i of the inputs alone, so the operator works in any memory order.
    view (bool): Output 0 holds the bytes of input 0 under another shape, and so do the gradients
        (Flatten, Reshape); the executor makes views of them and runs nothing.
    passes_gradient (bool): Every gradient that backward writes is that of output 0, and nothing
        else is read (a sum); the executor makes views of it where it can.
    adds_two (bool): Output 0 is the sum of two inputs of its shape.
    linear_in_weight (bool): Output 0 is linear in input 0 (data) and in input 1 (weight): the
        gradient of the one reads out_grad and the other, and backward computes each alone when the
        other is not requested (and its array not given).
    moves_states (bool): Forward writes the auxiliary states, if there are any.
    shape_only (tuple of int): Inputs of which only the shape counts: their memory order does not
        matter, and no gradient flows to them.
    loss_labels (tuple of int): Inputs that forward does not read, labels of a loss: a prediction
        needs none.
    prefers_channels_last (bool): A form for channels-last memory that is worth reordering its
        inputs for.
    private_outputs (bool): What the hidden outputs hold is between forward and backward of one
        device, bytes that differ from device to device.
    draws_in_training_alone (bool): Forward draws no random numbers in prediction.
    sooner_computed (bool): Output 0 takes less time to compute than to read, since it is some times
        as long as the inputs. Each reader then computes it again.
    takes_bool (bool): The loops of an elementwise operator take arrays of bool.
    takes_empty (bool): `create_operator` is also asked where outputs have elements and an input has
        none (Concat). It never is where all outputs are empty (``operator/empty``).
    of_nothing (float or None): What outputs with elements hold where an input has none (0 for a
        sum); None: that is refused.
    float32_beside_half (tuple of str or None): For an operator whose loops on the CPU are float's:
        the names of inputs that are not float16 where the others are. float16 is then converted
        around the operator (``operator/half``). None: what `create_operator` makes takes float16
        itself, or refuses it.
    bfloat16_loops (bool): What `create_operator` makes takes bfloat16 itself (the hook
        `takes_bfloat16`).
    """

    elementwise: bool = False
    view: bool = False
    passes_gradient: bool = False
    adds_two: bool = False
    linear_in_weight: bool = False
    moves_states: bool = True
    shape_only: tuple[int, ...] = ()
    loss_labels: tuple[int, ...] = ()
    prefers_channels_last: bool = False
    private_outputs: bool = False
    draws_in_training_alone: bool = False
    sooner_computed: bool = False
    takes_bool: bool = False
    takes_empty: bool = False
    of_nothing: float | None = None
    float32_beside_half: tuple[str, ...] | None = None
    bfloat16_loops: bool = False


class GraphHooks:  # what graph passes ask of an operator
    """Base of all hooks; keywords set traits.

    Every method gets the property, `prop`, first. Shapes and types are those of its inputs.

    >>> GraphHooks(view=True).traits.view, GraphHooks().traits.view
    (True, False)
    """

    traits = Traits()

    def __init__(self, **traits: Any) -> None:
        if traits:
            self.traits = replace(self.traits, **traits)

    def takes_bfloat16(self, prop: Prop, in_shapes: Shapes, in_types: Types) -> bool:
        """Return whether `create_operator` accepts bfloat16 if inputs or outputs have it; if not,
        it gets float32, with conversions around it."""
        return self.traits.bfloat16_loops

    def fixed_inputs(self, prop: Prop) -> Mapping[str, float]:
        """The constants that replace inputs that are never read: name to number."""
        return {}

    def draws_in_prediction(self, prop: Prop) -> bool:
        """Return whether forward draws random numbers in prediction, too; if not, predictions do
        not advance the random stream."""
        return not self.traits.draws_in_training_alone

    def is_memory_bound(self, prop: Prop, in_shapes: Shapes) -> bool:
        """Return whether forward is one pass of simple operations over its arrays, so that its time
        is proportional to their bytes."""
        return False

    def flops(self, prop: Prop, in_shapes: Shapes, out_shapes: Shapes) -> int:
        """Additions and multiplications of the matrix product or convolution that forward is; 0 for
        any other operator."""
        return 0

    def algorithms(self, prop: Prop, in_shapes: Shapes, in_types: Types) -> dict[str, Choice]:
        """The algorithm on a CPU: the `Choice` (``algorithms.py``) of "forward", and of gradients
        with their own choice. Empty if there is only one algorithm."""
        return {}

    def activation(self, prop: Prop) -> str | None:
        """Return the act_type if the operator is exactly that activation, else None."""
        return None

    def computes_maxima(self, prop: Prop) -> bool:
        """Return whether each element of output 0 is the maximum of some elements of input 0."""
        return False

    def epilogue(
        self, prop: Prop, in_shapes: Shapes, in_types: Types, kind: str, act_type: str | None = None
    ) -> Prop:
        """The property that also computes an epilogue of `kind` (see the list above), or None if it
        cannot, or would need another pass over memory.

        `act_type` is the activation of ACTIVATION, RESIDUAL and SUM; None: there is none.
        """
        return None

    def channels_last_form(
        self, prop: Prop, in_shapes: Shapes, in_types: Types
    ) -> tuple[Prop, list[int]] | None:
        """The same operator for arrays in channels-last memory order, (N, *size, C) for a shape (N,
        C, *size); shapes do not change.

        Returns (OperatorProperty, list of int) or None: the property for such arrays, and which
        inputs it takes in that order; outputs with as many axes as the first input come in that
        order, too. None: row-major memory only.
        """
        return (prop, list(range(len(in_shapes)))) if self.traits.elementwise else None

    def weight_first_form(self, prop: Prop, in_shapes: Shapes, in_types: Types) -> Prop:
        """The property of the same convolution with a weight of shape (F, C, *kernel).

        A convolution in a layout such as NHWC has its data in the order that kernels prefer, but
        not its weight. None for any other operator.
        """
        return None

    def columns_as_channels_form(self, prop: Prop, in_shapes: Shapes) -> Prop:
        """The property of the same convolution with the columns of data (N, 1, H, W) as channels,
        (N, W, H, 1), and the weight (F, 1, h, W) as (F, W, h, 1); None if that is not
        equivalent."""
        return None

    def prepack(
        self, prop: Prop, in_shapes: Shapes, in_types: Types, replaces: bool
    ) -> tuple[Prop, Prop, int] | None:
        """The same operator with input 1, the weight, in a form that is prepared once.

        None if the gain is not worth the memory. `replaces`: the prepared weight takes the place of
        a copy that only this operator reads.

        Returns (OperatorProperty, OperatorProperty, int) or None: what makes that form of the
        weight, the property that takes it, and how many elements it has. None: the weight is read
        as it is.
        """
        return None

    def forward_loops(
        self, prop: Prop, in_data: Sequence[Any], out_data: Sequence[Any]
    ) -> list[Loop] | None:
        """Forward as a list of `Loop` over the arrays in the two lists, or None if it is anything
        else. Inputs may broadcast to outputs."""
        return None

    def backward_loops(
        self,
        prop: Prop,
        out_grad: Sequence[Any],
        in_data: Sequence[Any],
        out_data: Sequence[Any],
        in_grad: Sequence[Any],
    ) -> list[Loop] | None:
        """Backward as a list of loops in the order of their writes, or None.

        What `declare_backward_dependency` does not name is not read.
        """
        return None

    def moved_parts(self, prop: Prop, in_shapes: Shapes) -> list[StridedPart] | None:
        """Return the parts that forward copies, and backward copies back: a list of `StridedPart`
        (tensor/pieces.pyx); each element of the outputs is in one. None if the operator does
        anything else."""
        return None


class LayerHooks(GraphHooks):
    """Hooks of a layer whose output is linear in data and weight."""

    traits = Traits(linear_in_weight=True)

    def flops(self, prop: Prop, in_shapes: Shapes, out_shapes: Shapes) -> int:
        # each output element takes a multiply-add for each weight in one row of the weight
        return 2 * prod(out_shapes[0]) * prod(self.weight_shape(prop, in_shapes)[1:])

    def weight_shape(self, prop: Prop, in_shapes: Shapes) -> Shape:
        """The shape of the weight, whatever form it comes in."""
        return in_shapes[1]
