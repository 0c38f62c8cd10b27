"""NodeExecutor: an Executor of a graph in which arrays are sparse. It runs node by node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import autograd
from .._core.sparse_kind import dense_of
from ..base.dtype import name_of
from ..base.errors import ArgumentError, CynetError, ShapeError, shown
from ..base.guard import guarded
from ..graph.infer import infer_shapes, infer_storage_types, infer_types
from ..ndarray import NDArray, _tape, zeros
from ..ndarray._call import invoke
from ..ndarray.sparse.call import sparse_call
from ..ndarray.sparse.convert import as_row_sparse, zero_values
from ..operator.checks.shapes import plain_shape
from ..operator.property import is_known
from ..operator.storage_types import creates_sparse
from .executor import Executor

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from typing import NoReturn

    from ..graph.infer import Structure
    from ..symbol.node import Entry, Node
    from ..typing import Context, DTypeLike, NamedArrays, Shape, ShapeLike, Symbol


@guarded(but=("forward", "backward", "step"))
class NodeExecutor(Executor):
    """An Executor that runs operators one by one, as imperative calls that autograd records.

    What sparse operators give has no fixed size, so there is no plan. The steps of such networks
    are few and large. Arrays and methods are those of `Executor`.
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Context,
        arg_arrays: list[NDArray],
        grad_arrays: list[Any],
        grad_req: dict[str, str],
        aux_arrays: list[NDArray],
        inferred: tuple[Any, Any],
        structure: Structure,
    ) -> None:
        self._symbol, self._ctx, self._group2ctx = symbol, ctx, None
        self._grad_req, self._structure = grad_req, structure
        self._arg_names = symbol.list_arguments()
        self._aux_names = symbol.list_auxiliary_states()
        self.arg_arrays, self.grad_arrays, self.aux_arrays = arg_arrays, grad_arrays, aux_arrays
        self.arg_dict = dict(zip(self._arg_names, arg_arrays))
        self.grad_dict = dict(zip(self._arg_names, grad_arrays))
        self.aux_dict = dict(zip(self._aux_names, aux_arrays))
        self.has_run, self._training = False, True
        self._monitor, self._monitor_all = None, False
        self._constant_inputs, self.cached_results, self.nbytes, self.joins_steps = (
            None,
            [],
            0,
            False,
        )
        self._wants = any(grad is not None for grad in grad_arrays)
        self._made: list[NDArray] | None = None  # results of the last forward
        self._leaves: list[tuple[Any, NDArray]] = []  # and its variables
        # node -> storage types of its inputs and outputs in the last forward
        self._stypes: dict[Node, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        arrays = {**self.arg_dict, **self.aux_dict}
        shapes, types = inferred
        if shapes is None:
            known = {name: each.shape for name, each in arrays.items()}
            shapes = infer_shapes(symbol.entries, known, structure=structure)
        if types is None:
            dtypes = {name: name_of(each.dtype) for name, each in arrays.items()}
            types = infer_types(symbol.entries, dtypes, "float32", structure=structure)
        self.outputs = [
            zeros(plain_shape(shapes[e]), ctx=ctx, dtype=types[e]) for e in symbol.entries
        ]
        self._heads_taken = [_reads_output_gradient(*entry) for entry in symbol.entries]

    def release_arena(self) -> None:
        """Do nothing: this executor has no arena."""

    def forward_on(
        self, sources: Sequence[NDArray], targets: Sequence[NDArray], is_train: bool
    ) -> bool:
        for source, target in zip(sources, targets):
            if not isinstance(source, NDArray) or source.shape != target.shape:
                return False
        for source, target in zip(sources, targets):
            source.copyto(target)
        scope = autograd.record if self._wants else autograd.pause
        views = {name: each.detach() for name, each in self.arg_dict.items()}
        self._leaves = [
            (views[name], grad) for name, grad in self.grad_dict.items() if grad is not None
        ]
        for name, grad in self.grad_dict.items():
            if grad is not None:
                autograd.mark_variables([views[name]], [grad], self._grad_req[name])
        with scope(train_mode=bool(is_train)):
            values = self._run_nodes({**views, **self.aux_dict})
            results = self._made = [values[entry] for entry in self._symbol.entries]
        with autograd.pause():
            for i, made in enumerate(results):
                if made.stype != "default":
                    self.outputs[i] = made.detach()
                else:
                    made.copyto(self.outputs[i])
        self.has_run, self._training = True, bool(is_train)
        return True

    def _run_nodes(self, variables: NamedArrays) -> dict[Entry, NDArray]:
        """Run all operators; returns a dict of entry -> array."""
        values = {}
        for node in self._structure.order:
            if node.op is None:
                values[node, 0] = variables[node.name]
                continue
            inputs = tuple(values[entry] for entry in node.inputs)
            if creates_sparse(node.prop):
                found = sparse_call(node.op, list(inputs), (), dict(node.params), None)
            else:
                found = invoke(node.op, inputs, dict(node.params))
            found = found if isinstance(found, list) else [found]
            for i, each in enumerate(found):
                values[node, i] = each
            self._stypes[node] = tuple(e.stype for e in inputs), tuple(e.stype for e in found)
            if self._monitor is not None:
                self._notify_monitor(self._monitor, node, inputs, found)
        return values

    def _notify_monitor(
        self,
        monitor: Callable[[str, NDArray], Any],
        node: Node,
        inputs: Sequence[NDArray],
        outputs: Sequence[NDArray],
    ) -> None:
        if self._monitor_all:
            for name, each in zip(node.input_names(), inputs):
                monitor(f"{node.name}_{name}", each.detach())
        for i, each in enumerate(outputs):
            monitor(node.output_name(i), each.detach())

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        if not self._wants:
            return
        if self._made is None:
            raise CynetError("backward: call forward first; what it left is used once")
        given = self._head_gradient_list(out_grads)
        heads = [
            (made, grad)
            for made, grad in zip(self._made, given)
            if _tape.computed_by(made) is not None
        ]
        if heads:
            results, grads = map(list, zip(*heads))
            autograd.backward(results, grads, train_mode=self._training)
        self._made = None
        for view, grad in self._leaves:
            if not view._fresh_grad and _tape.leaf_of(view).grad_req == "write":
                grad[:] = 0  # no gradient reached the argument

    def _head_gradient_list(self, out_grads: Any) -> list[NDArray | None]:
        if isinstance(out_grads, dict):
            given = [out_grads.get(name) for name in self._symbol.list_outputs()]
        elif isinstance(out_grads, (list, tuple)):
            given = list(out_grads)
        else:
            given = [out_grads]
        if len(given) > len(self.outputs):
            raise ArgumentError(f"backward: {len(given)} out_grads for {len(self.outputs)} outputs")
        given += [None] * (len(self.outputs) - len(given))
        names = self._symbol.list_outputs()
        for i, (name, taken) in enumerate(zip(names, self._heads_taken)):
            if not taken:
                given[i] = None
            elif given[i] is None:
                raise ArgumentError(
                    f"backward: output '{name}' is not a loss function: out_grads must hold its "
                    f"gradient, an NDArray of shape {self.outputs[i].shape}"
                )
        return given

    def _can_run_as_one_step(self) -> bool:
        return False

    def copy_params_from(
        self,
        arg_params: NamedArrays,
        aux_params: NamedArrays | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """``Executor.copy_params_from``; a row_sparse weight with all rows keeps all rows."""
        rest = {}
        for name, value in arg_params.items():
            array: Any = self.arg_dict.get(name)
            if array is None or array.stype != "row_sparse" or value.shape != array.shape:
                rest[name] = value
                continue
            values, (rows,) = array.parts()
            if len(rows) == array.shape[0]:
                dense_of(value).astype(array.dtype, copy=False).copyto(values)
            else:
                value.copyto(array)
        super().copy_params_from(rest, aux_params, allow_extra_params)

    def reshape_free(
        self,
        shapes: Mapping[str, Shape],
        free: Container[str],
        allow_up_sizing: bool = True,
        hint: str = "",
    ) -> Executor:
        """``Executor.reshape_free``; arrays whose shape changes are new."""
        given = self._symbol._known_shapes((), shapes)
        found = infer_shapes(self._symbol.entries, given, structure=self._structure)
        arrays = {**self.arg_dict, **self.aux_dict}
        by_name = {}
        for node in self._structure.variables:
            shape = found[node, 0]
            by_name[node.name] = plain_shape(shape) if is_known(shape) else arrays[node.name].shape

        def fit_array(name: str, old: Any) -> Any:
            if old is None or old.shape == by_name[name]:
                return old
            if name not in free:
                error = ShapeError(
                    f"reshape: '{name}' changes from {old.shape} to {by_name[name]}{hint}"
                )
                error.change = name, old.shape, by_name[name]  # type: ignore[attr-defined]
                raise error
            return zeros(by_name[name], ctx=old.context, dtype=old.dtype, stype=old.stype)

        made = NodeExecutor(
            self._symbol,
            self._ctx,
            [fit_array(name, self.arg_dict[name]) for name in self._arg_names],
            [fit_array(name, self.grad_dict[name]) for name in self._arg_names],
            self._grad_req,
            [fit_array(name, self.aux_dict[name]) for name in self._aux_names],
            (None, None),
            self._structure,
        )
        made.set_monitor_callback(self._monitor, self._monitor_all)
        return made

    def set_monitor_callback(
        self, callback: Callable[[str, NDArray], Any] | None, monitor_all: bool = False
    ) -> None:
        """Call ``callback(name, array)`` for the output of every operator in `forward`."""
        if callback is not None and not callable(callback):
            raise ArgumentError(f"set_monitor_callback: {shown(callback)} is not callable")
        self._monitor, self._monitor_all = callback, monitor_all

    def debug_str(self) -> str:
        """Return all operators with the storage types of their inputs and outputs in the last
        forward; before a forward those that `infer_storage_type` returns."""
        given = {name: array.stype for name, array in {**self.arg_dict, **self.aux_dict}.items()}
        found = infer_storage_types(self._structure, given)
        lines = ["runs node by node: arrays are sparse"]
        for node in self._structure.order:
            if node.op is not None:
                made = [found[node, k] for k in range(node.num_visible_outputs)]
                stypes = [found[entry] for entry in node.inputs], made
                read, written = (", ".join(e) for e in self._stypes.get(node, stypes))
                lines.append(f"{node.op.name} {node.name}: ({read}) -> ({written})")
        return "\n".join(lines)

    def profile(self, run: Callable[[], Any], n: int = 10) -> NoReturn:
        """Raise CynetError: this executor has no plan to profile."""
        raise CynetError("profile: a graph with sparse arrays runs node by node; use mx.profiler")


def _reads_output_gradient(node: Node, i: int) -> bool:
    """Return whether a node's gradient depends on the gradient of its output `i`."""
    if node.op is None:
        return True
    n_out, n_in = node.num_outputs, node.num_args
    ids = list(range(2 * n_out + n_in))
    outs, ins = ids[:n_out], ids[n_out : n_out + n_in]
    return outs[i] in node.prop.declare_backward_dependency(outs, ins, ids[n_out + n_in :])


def all_rows(shape: ShapeLike, ctx: Context, dtype: DTypeLike) -> NDArray:
    """A row_sparse array of zeros that has all rows: a weight, which is changed in place."""
    array: NDArray = as_row_sparse(zero_values(zeros((0,), ctx=ctx, dtype=dtype), shape))
    return array
