"""Symbol: a view of a graph through some of its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..attribute import AttrScope, add_plain_keys, is_attribute_key, stored_key
from ..base.errors import ArgumentError, ArgumentTypeError, BoundsError, shown
from ..base.files import write_atomically
from ..base.guard import guarded
from ..context import current_context
from ..operator.signature import describe_value
from .arithmetic import Arithmetic
from .compose import attribute_text, copy_graph, substitute_variables
from .display import HtmlDisplay
from .inference import Inference
from .methods import OperatorMethods
from .node import Node, topological_order, variable_nodes
from .serialization import debug_text, to_json, without_amp_casts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..graph.infer import Structure
    from ..typing import (
        Context,
        ContextLike,
        DTypeLike,
        Executor,
        FileName,
        GradReq,
        NamedArrays,
        NDArray,
        ShapeLike,
    )

STORAGE_CODES = {"default": "0", "row_sparse": "1", "csr": "2"}  # the codes that variables store


@guarded(but=("__init__", "__getitem__"))
class Symbol(Arithmetic, OperatorMethods, Inference, HtmlDisplay):
    """One or several outputs of a graph of operators.

    Symbols are made by `Variable`, by the operators in ``mx.sym``, by `Group` and by arithmetic; a
    Symbol itself holds no data.

    Parameters
    ----------
    heads : iterable of (Node, int)
        Nodes of the graph and numbers of their outputs; use the functions above instead.

    Examples
    --------
    >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
    >>> c = mx.sym.elemwise_add(a, b, name="c")
    >>> c.list_arguments(), c.list_outputs()
    (['a', 'b'], ['c_output'])
    >>> out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> out.name, out.num_outputs, out.list_inputs(), out.list_auxiliary_states()
    ('fc', 1, ['data', 'fc_weight', 'fc_bias'], [])
    >>> out.get_children().list_outputs()
    ['data', 'fc_weight', 'fc_bias']
    >>> out.list_attr()
    {'num_hidden': '2'}
    >>> out.attr_dict()["fc"]
    {'num_hidden': '2'}
    >>> mx.sym.load_json(out.tojson()).list_arguments()
    ['data', 'fc_weight', 'fc_bias']
    >>> print(out.debug_str().splitlines()[0])
    Symbol Outputs:
    >>> out.eval(data=mx.nd.ones((1, 3)), fc_weight=mx.nd.ones((2, 3)), fc_bias=mx.nd.zeros(2))[0]
    [[3. 3.]]
    <NDArray 1x2 @cpu(0)>
    """

    __slots__ = ("_structure", "entries")
    __hash__ = None

    def __init__(self, heads: Iterable[Any]) -> None:
        self.entries = list(heads)
        self._structure: Structure | None = None  # cache of graph/infer.py

    # --- copies ---
    def __copy__(self) -> Symbol:
        return Symbol(copy_graph(self.entries)[0])

    def __deepcopy__(self, memo: Any) -> Symbol:
        return Symbol(copy_graph(self.entries)[0])

    def __reduce__(self):
        from .reading import load_json

        return load_json, (self.tojson(),)

    # --- composition ---
    def __call__(self, /, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """A copy of this symbol in which variables are replaced by other symbols.

        Parameters
        ----------
        *args : Symbol
            What replaces the arguments, in the order of `list_arguments`.
        name : str, optional
            Name of the copy's output node.
        **kwargs : Symbol
            What replaces the variables of these names; not together with positional ones.

        Examples
        --------
        >>> net = mx.sym.Variable("x") * 2
        >>> net(x=mx.sym.Variable("y")).list_arguments()
        ['y']
        """
        if args and kwargs:
            raise ArgumentTypeError("composition takes symbols by position or by keyword, not both")
        names = self.list_arguments()
        if len(args) > len(names):
            raise ArgumentTypeError(
                f"composition: {len(args)} symbols given for {len(names)} arguments {names}"
            )
        return self._compose_by_name(dict(zip(names, args)) if args else kwargs, name)

    def _compose_by_name(self, given, name=None):
        """`__call__` with the replacements of variables by name."""
        replacement = {
            key: single_entry(value, f"composition: argument '{key}'")
            for key, value in given.items()
        }
        out = self.__copy__()
        if name is not None:
            if len({id(node) for node, _ in out.entries}) != 1:
                raise ArgumentError(
                    f"composition: a group of several nodes cannot be named '{name}'"
                )
            out.entries[0][0].name = name
        out.entries = substitute_variables(out.entries, replacement)
        return out

    def placeholder(self, name: str, row: bool) -> Symbol:
        """Make a variable that represents this output, or a row of it, in the body of a loop.

        Parameters
        ----------
        name : str
            Name of the variable.
        row : bool
            Whether it stands for a row of this output.

        Examples
        --------
        >>> mx.sym.var("steps").placeholder("step", row=True).list_arguments()
        ['step']
        """
        attrs = {stored_key(k): v for k, v in AttrScope.current.get(None).items()}
        return Symbol([(Node(None, name, attrs), 0)])

    # --- outputs ---
    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Symbol]:
        return (self[i] for i in range(len(self.entries)))

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """One output by index or name, or several by a slice.

        Raises
        ------
        IndexError
            An index is out of range.
        ArgumentError
            A name is that of no output, or of several.
        """
        if isinstance(index, str):
            names = self.list_outputs()
            found = [i for i, name in enumerate(names) if name == index]
            if len(found) != 1:
                problem = "several outputs are" if found else "no output is"
                raise ArgumentError(
                    f"{shown(self)}: {problem} named '{index}'; outputs: {', '.join(names)}"
                )
            index = found[0]
        elif isinstance(index, slice):
            try:
                heads = self.entries[index]
            except (TypeError, ValueError) as error:
                kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentError
                raise kind(
                    f"{shown(self)}: expected integers as bounds of a slice and a step other than "
                    f"0, got {shown(index)}"
                ) from None
            if not heads:
                raise BoundsError(
                    f"{shown(self)}: slice {index} selects none of {len(self.entries)} outputs"
                )
            return Symbol(heads)
        try:
            return Symbol([self.entries[index]])
        except TypeError:
            raise ArgumentTypeError(
                f"{shown(self)}: an output is chosen by int, str or slice, got {shown(index)}"
            ) from None
        except IndexError:
            count = len(self.entries)
            raise BoundsError(f"{shown(self)}: no output {index}; there are {count}") from None

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self.entries)

    @property
    def name(self) -> str | None:
        """The name of the output node; None for a group of several nodes."""
        first = self.entries[0][0]
        return first.name if all(node is first for node, _ in self.entries) else None

    def get_internals(self) -> Symbol:
        """All visible outputs of all nodes, as a group.

        Examples
        --------
        >>> net = mx.sym.Variable("x") + 1
        >>> net.get_internals()["x"].name
        'x'
        """
        return Symbol(
            [
                (node, i)
                for node in topological_order(self.entries)
                for i in range(node.num_visible_outputs)
            ]
        )

    def get_children(self) -> Symbol | None:
        """The inputs of the output nodes as a group, or None."""
        nodes = {id(node): node for node, _ in self.entries}
        heads = [entry for node in nodes.values() for entry in node.inputs]
        return Symbol(heads) if heads else None

    # --- names ---
    def list_arguments(self) -> list[str]:
        """Names of the arguments: variables that are no auxiliary states, depth first."""
        return [node.name for node in variable_nodes(self.entries)[0]]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the auxiliary states: variables that operators update by themselves."""
        return [node.name for node in variable_nodes(self.entries)[1]]

    def list_inputs(self) -> list[str]:
        """Names of all variables."""
        return [node.name for node in variable_nodes(self.entries)[2]]

    def list_outputs(self) -> list[str]:
        """Names of the outputs, such as ``fc1_output``."""
        return [node.output_name(i) for node, i in self.entries]

    def __repr__(self) -> str:
        if self.name is not None:
            return f"<Symbol {self.name}>"
        return f"<Symbol group [{', '.join(node.name for node, _ in self.entries)}]>"

    # --- attributes ---
    def attr(self, key: str) -> str | None:
        """One attribute or parameter of the output node as a str, or None.

        Parameters
        ----------
        key : str
            Name of the attribute or parameter.

        Examples
        --------
        >>> mx.sym.Variable("w", lr_mult=2).attr("lr_mult")
        '2'
        """
        node = self.entries[0][0]
        if self.name is None:
            return None
        if key == "name":
            return node.name
        return add_plain_keys({**node.params, **node.attrs}).get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Attributes and parameters of the (first) output node: dict of str to str.

        Parameters
        ----------
        recursive : bool
            Not supported: `attr_dict` has the attributes of all nodes.

        Raises
        ------
        ArgumentError
            `recursive` is set; `attr_dict` gives what it once gave.
        """
        if recursive:
            raise ArgumentError("list_attr: expected recursive=False; attr_dict() is for all nodes")
        node = self.entries[0][0]
        return add_plain_keys({**node.params, **node.attrs})

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Node name to its attributes and parameters, for every node that has any."""
        out = {}
        for node in topological_order(self.entries):
            attrs = add_plain_keys({**node.params, **node.attrs})
            if attrs:
                out[node.name] = attrs
        return out

    def _set_attr(self, **kwargs: str) -> None:
        """Set attributes of the output node, values of type str."""
        node = self.entries[0][0]
        where = f"symbol {node.name}"
        for key, value in kwargs.items():
            value = attribute_text(where, key, value)
            if node.op is not None and node.prop.fields and not is_attribute_key(key):
                raise ArgumentError(
                    f"{where}: attribute '{key}' must start and end with two underscores"
                )
            node.attrs[stored_key(key)] = value

    # --- files ---
    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as JSON, byte for byte as MXNet 1.9.1 writes it.

        Parameters
        ----------
        remove_amp_cast : bool
            Leave out ``amp_cast`` and ``amp_multicast``, which ``mx.contrib.amp`` inserted.
        """
        return to_json(without_amp_casts(self.entries) if remove_amp_cast else self.entries)

    def save(self, fname: FileName, remove_amp_cast: bool = True) -> None:
        """Write `tojson` to the file `fname`; the file is there whole or not at all.

        Parameters
        ----------
        fname : str
            The file to write.
        remove_amp_cast : bool
            Leave out the casts that mixed precision inserted.

        Raises
        ------
        ArgumentError
            A name or an attribute has characters that UTF-8 cannot write.

        Examples
        --------
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "net-symbol.json")
        >>> (mx.sym.Variable("a") + 1).save(path)
        >>> mx.sym.load(path).list_arguments()
        ['a']
        """
        try:
            data = self.tojson(remove_amp_cast).encode()
        except UnicodeEncodeError as error:
            bad = shown(error.object[error.start : error.end])
            raise ArgumentError(
                f"{shown(self)}: save: a name or attribute has {bad}, which UTF-8 cannot write"
            ) from None
        write_atomically(fname, data)

    def debug_str(self) -> str:
        """A text that describes the graph."""
        return debug_text(self.entries)

    # --- execution ---
    def bind(
        self,
        ctx: ContextLike,
        args: Sequence[NDArray] | NamedArrays,
        args_grad: Sequence[NDArray | None] | NamedArrays = None,
        grad_req: GradReq = "write",
        aux_states: Sequence[NDArray] | NamedArrays | None = None,
        group2ctx: Mapping[str, Context] | None = None,
        shared_exec: Executor | None = None,
    ) -> Executor:
        """Make an executor that works on the arrays given.

        Parameters
        ----------
        ctx : Context
            Device of the executor.
        args : list or dict of NDArray
            The arguments, in the order of `list_arguments` or by name.
        args_grad : list or dict of NDArray, optional
            Arrays that gradients are written to; arguments that are left out get none.
        grad_req : str, list or dict
            What backward does with each gradient: ``'write'``, ``'add'`` or ``'null'``; one for
            all, a list, or by name.
        aux_states : list or dict of NDArray, optional
            The auxiliary states, in the order of `list_auxiliary_states` or by name.

        Examples
        --------
        >>> x = mx.sym.var("x")
        >>> exe = (x * x).bind(mx.cpu(), {"x": mx.nd.array([2, 3])}, {"x": mx.nd.zeros(2)})
        >>> exe.forward(is_train=True)[0]
        [4. 9.]
        <NDArray 2 @cpu(0)>
        >>> exe.backward(mx.nd.ones(2))
        >>> exe.grad_dict["x"]
        [4. 6.]
        <NDArray 2 @cpu(0)>
        """
        from ..executor.bind import bind

        return bind(self, ctx, args, args_grad, grad_req, aux_states, group2ctx, shared_exec)

    def simple_bind(
        self,
        /,
        ctx: ContextLike,
        grad_req: GradReq = "write",
        type_dict: Mapping[str, DTypeLike] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Mapping[str, Context] | None = None,
        shared_arg_names: Sequence[str] | None = None,
        shared_exec: Executor | None = None,
        shared_buffer: NamedArrays | None = None,
        **kwargs: ShapeLike,
    ) -> Executor:
        """Infer all shapes and types, allocate all arrays and make an executor.

        Parameters
        ----------
        ctx : Context
            Device of the executor.
        grad_req : str, list or dict
            What backward does with each gradient, see `bind`.
        type_dict : dict of str to dtype, optional
            Types of arguments; those that inference does not find are float32.
        stype_dict : dict, optional
            Storage types of arguments, which take precedence over those of variables:
            ``'default'``, ``'row_sparse'``, ``'csr'``. With a sparse one the graph runs node by
            node.
        shared_arg_names : list of str, optional
            Arguments whose arrays are taken from `shared_exec`.
        shared_buffer : dict of str to NDArray, optional
            Arrays to reuse if they are large enough; new ones are added to it.
        **kwargs : tuple
            Shapes of arguments. Names that the symbol does not have, here and in `type_dict`, are
            ignored with a warning: an inner layer may be bound with the shapes of the whole
            network.

        Examples
        --------
        >>> out = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        >>> exe = out.simple_bind(mx.cpu(), data=(4, 3))
        >>> exe.arg_dict["fc_weight"].shape, exe.forward()[0].shape
        ((2, 3), (4, 2))
        """
        for name, stype in (stype_dict or {}).items():
            storage_code(f"simple_bind: '{name}'", stype)
        from ..executor.bind import simple_bind

        return simple_bind(
            self,
            ctx,
            kwargs,
            grad_req,
            type_dict,
            group2ctx,
            shared_arg_names,
            shared_exec,
            shared_buffer,
            stype_dict,
        )

    def eval(self, /, ctx: ContextLike | None = None, **kwargs: NDArray) -> list[NDArray]:
        """Compute the outputs once.

        Parameters
        ----------
        ctx : Context, optional
            Device; the current context by default.
        **kwargs : NDArray
            All arguments, by name.
        """
        executor = self.bind(current_context() if ctx is None else ctx, kwargs, grad_req="null")
        return executor.forward()


def single_entry(value, where):
    """The entry of a Symbol with one output, or an error that names `where`."""
    if not isinstance(value, Symbol):
        raise ArgumentTypeError(f"{where} must be a Symbol, got {describe_value(value)}")
    if len(value.entries) != 1:
        raise ArgumentError(
            f"{where} must have a single output, but {shown(value)} has {len(value.entries)} "
            f"({', '.join(value.list_outputs())}); choose one by indexing"
        )
    return value.entries[0]


def storage_code(where, stype):
    """The code that a variable stores for a storage type."""
    if not isinstance(stype, str) or stype not in STORAGE_CODES:
        raise ArgumentError(
            f"{where}: storage type {shown(stype)} is not one of {', '.join(STORAGE_CODES)}"
        )
    return STORAGE_CODES[stype]
