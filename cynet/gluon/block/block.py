"""Block: a part of a network, with parameters, children, names and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd.hooks import HookHandle, Hooks, require_callable
from ...base.errors import ArgumentTypeError, NotFoundError, UndefinedError, shown
from ...base.guard import guarded
from ...base.reprs import preformatted_html
from ...engine.trace import SPANS_TRACED, Span
from ...libinfo import name_hint
from ..errors import MismatchError
from ..parameter import Parameter, ParameterDict
from ..parameter.parameter import DEFAULT_INITIALIZER
from ..tracing import count_block_change
from . import files
from .backward_hooks import hooked_call_or_none
from .children import unregistered_blocks
from .saving import BlockFiles
from .scope import BlockScope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...typing import DTypeLike, InitializerLike, NDArray
    from ..parameter.parameter import Contexts

_ATTRS_FROM_INIT = {"_children", "_reg_params", "_forward_hooks", "_forward_pre_hooks", "_scope"}
_ATTRS_FROM_INIT |= {"_backward_hooks"}


@guarded(but=("__call__", "forward", "__setattr__", "__delattr__"))
class Block(BlockFiles):
    """A part of a network: it has parameters, child Blocks, and a method `forward`.

    Blocks and Parameters that become attributes are registered, and so are Blocks in lists, tuples
    and dicts that are attributes. The name of a Parameter that no Block has yet gets this one's
    prefix.

    Parameters
    ----------
    prefix : str, optional
        Put before the names of its parameters and children; by default made from the class's name
        and a number.
    params : ParameterDict, optional
        Dictionary whose parameters it shares, by name.

    Raises
    ------
    ArgumentTypeError
        `prefix` is not a str.

    Examples
    --------
    >>> class Twice(mx.gluon.Block):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.dense = mx.gluon.nn.Dense(2)
    ...     def forward(self, x):
    ...         return self.dense(x) * 2
    ...
    >>> net = Twice(prefix="twice_")
    >>> net.initialize(mx.init.One())
    >>> net(mx.nd.ones((1, 3))).asnumpy().tolist()
    [[6.0, 6.0]]
    >>> list(net.collect_params().keys())
    ['twice_dense0_weight', 'twice_dense0_bias']
    >>> net.name, net.prefix, list(net.params.keys())
    ('twice', 'twice_', [])
    >>> net.register_child(mx.gluon.nn.Dense(1), "extra")
    >>> net
    Twice(
      (dense): Dense(3 -> 2, linear)
      (extra): Dense(None -> 1, linear)
    )
    """

    _select_forward = None  # method that chooses how a call is computed; None: by `forward`

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        if prefix is not None and not isinstance(prefix, str):
            raise ArgumentTypeError(_prefix_error_text(type(self).__name__, prefix))
        set_ = super().__setattr__
        set_("_children", {})
        set_("_reg_params", {})
        set_("_forward_hooks", Hooks())
        set_("_forward_pre_hooks", Hooks())
        set_("_backward_hooks", Hooks())
        set_("_empty_prefix", prefix == "")
        prefix, params = BlockScope.create(prefix, params, self._alias())
        set_("_prefix", prefix)
        set_("_params", params)
        set_("_name", prefix[:-1] if prefix.endswith("_") else prefix)
        set_("_scope", BlockScope(self))

    def _alias(self):
        """Return the start of generated prefixes."""
        return type(self).__name__.lower()

    def __repr__(self) -> str:
        rows = [f"  ({name}): {_indent_text(repr(each))}" for name, each in self._named_children()]
        return f"{type(self).__name__}(\n" + "\n".join(rows) + "\n)"

    def _repr_html_(self):
        return preformatted_html(repr(self))

    def __setattr__(self, name: str, value: Any) -> None:
        old = self.__dict__.get(name)
        if isinstance(old, (Parameter, Block)) and not isinstance(value, type(old)):
            raise ArgumentTypeError(
                f"{type(self).__name__}.{name} is a {type(old).__name__}, and {shown(value)} is"
                " none"
            )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if self._reg_params.get(name, value) is not value:
                raise MismatchError(
                    f"{type(self).__name__}.{name} is a Parameter, which no other can replace;"
                    " Blocks share parameters by 'params' when they are made"
                )
            self._reg_params[name] = value
            self._params._adopt_parameter(value, name)
        super().__setattr__(name, value)
        count_block_change()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        count_block_change()

    # --- names ------------------------------------------------------------------------------------
    @property
    def prefix(self) -> str:
        """The text that precedes the names of the Block's parameters."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its last underscore."""
        return self._name

    def name_scope(self) -> BlockScope:
        """Return a scope in which the prefixes of new Blocks start with this Block's prefix.

        Returns
        -------
        BlockScope
            A context manager; the scope may be entered again.
        """
        return self._scope

    # --- children ---------------------------------------------------------------------------------
    def _named_children(self) -> Iterator[tuple[str, Block]]:
        """Yield pairs of structural name and child; children in lists and dicts come last."""
        yield from self._children.items()
        yield from unregistered_blocks(self, Block)

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Register `block` as a child, under `name` or its index among the children.

        Parameters
        ----------
        block : Block
            The child.
        name : str, optional
            Name among the children; by default its index among them.

        Raises
        ------
        ArgumentTypeError
            `block` is not a Block.
        """
        if not isinstance(block, Block):
            raise ArgumentTypeError(f"a child must be a Block, got {shown(block)}")
        self._children[str(len(self._children)) if name is None else name] = block
        count_block_change()

    def apply(self, fn: Callable[[Block], Any]) -> Block:
        """Call `fn` with every child and then this Block; return this Block.

        Parameters
        ----------
        fn : callable
            Called with one Block at a time; what it returns is ignored.

        Examples
        --------
        >>> net = mx.gluon.nn.Sequential()
        >>> net.add(mx.gluon.nn.Dense(2, prefix="first_"), mx.gluon.nn.Dense(1, prefix="second_"))
        >>> _ = net.apply(lambda block: print(type(block).__name__, block.name))
        Dense first
        Dense second
        Sequential sequential0
        """
        for _, each in self._named_children():
            each.apply(fn)
        fn(self)
        return self

    # --- parameters -------------------------------------------------------------------------------
    @property
    def params(self) -> ParameterDict:
        """The Block's own parameters, without its children's."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Return the parameters of the Block and of all children.

        Parameters
        ----------
        select : str, optional
            A regular expression that names match from their beginning: ``'.*weight|.*bias'``.
        """
        return files.select_parameters(self, select)

    def _collect_params_with_prefix(self, prefix=""):
        """Return a dict of structural name (``0.weight``) to Parameter."""
        if prefix:
            prefix += "."
        found = {prefix + name: each for name, each in self._reg_params.items()}
        for name, child in self._named_children():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def initialize(
        self,
        init: InitializerLike = DEFAULT_INITIALIZER,
        ctx: Contexts | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialize all parameters, the Block's own and its children's.

        Parameters
        ----------
        init : Initializer or str
            Initializer of parameters that do not have one of their own, as the biases of layers do.
        ctx : Context or list of Context, optional
            Devices that each get a copy; the current context by default.
        verbose : bool
            Log how each parameter is initialized.
        force_reinit : bool
            Also initialize parameters that are initialized already.
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def freeze(self, select: str = "") -> list[str]:
        """Disable the gradients of parameters, so that training skips them; return the names.

        Parameters
        ----------
        select : str
            A regular expression that structural names (``features.0.weight``) match from their
            beginning; all by default.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.freeze("weight")
        ['weight']
        >>> net.weight.grad_req, net.bias.grad_req
        ('null', 'write')
        >>> net.unfreeze()
        ['weight']
        """
        return files.set_frozen(self, select, True)

    def unfreeze(self, select: str = "") -> list[str]:
        """Undo `freeze`; return the names of the parameters that were frozen.

        Parameters
        ----------
        select : str
            Regular expression of names, structural or whole; all by default.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.freeze()
        ['weight', 'bias']
        >>> net.unfreeze("bias")
        ['bias']
        """
        return files.set_frozen(self, select, False)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of all parameters.

        Parameters
        ----------
        dtype : str or numpy.dtype
            The new element type.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.cast("float16")
        >>> net(mx.nd.ones((1, 3), dtype="float16")).dtype
        <class 'numpy.float16'>
        """
        for _, each in self._named_children():
            each.cast(dtype)
        for each in self._params.values():
            each.cast(dtype)
        count_block_change()

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize every HybridBlock among the children.

        Parameters
        ----------
        active : bool
            False goes back to running operator by operator.
        **kwargs
            Settings of `HybridBlock.hybridize`.

        Examples
        --------
        >>> net = mx.gluon.nn.HybridSequential()
        >>> net.add(mx.gluon.nn.Dense(2), mx.gluon.nn.Dense(1))
        >>> net.initialize(mx.init.One())
        >>> net.hybridize()
        >>> net(mx.nd.ones((1, 3)))
        [[6.]]
        <NDArray 1x1 @cpu(0)>
        """
        for _, each in self._named_children():
            each.hybridize(active, **kwargs)

    # --- hooks ------------------------------------------------------------------------------------
    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs, output)`` after each `forward`; its result is ignored.

        Parameters
        ----------
        hook : callable
            Called as ``hook(block, inputs, output)``; `inputs` is a tuple.

        Returns
        -------
        HookHandle
            Its ``detach`` takes the hook away.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, prefix="dense_")
        >>> net.initialize()
        >>> handle = net.register_forward_hook(lambda block, x, y: print(block.name, y.shape))
        >>> _ = net(mx.nd.ones((4, 3)))
        dense (4, 2)
        >>> handle.detach()
        """
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        count_block_change()
        return handle

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs)`` before each `forward`.

        Parameters
        ----------
        hook : callable
            Called as ``hook(block, inputs)``; `inputs` is a tuple.

        Returns
        -------
        HookHandle
            Its ``detach`` takes the hook away.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, prefix="dense_")
        >>> net.initialize()
        >>> handle = net.register_forward_pre_hook(lambda block, x: print(block.name, x[0].shape))
        >>> _ = net(mx.nd.ones((4, 3)))
        dense (4, 3)
        """
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        count_block_change()
        return handle

    def register_backward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, grad_inputs, grad_outputs)`` in each backward through a recorded call.

        It is called when the gradients of the inputs have come. What it returns stands in their
        place; the gradients of parameters are not changed. Hybridized Blocks call their hooks, and
        Blocks around a Block with hooks run it apart. A Block with backward hooks refuses a Symbol,
        as it is called with for a Module.

        Parameters
        ----------
        hook : callable
            Called as ``hook(block, grad_inputs, grad_outputs)``, with tuples of NDArray: one for
            each array among the arguments by position, those in lists, too, and among the outputs;
            None where no gradient goes. It returns None, a tuple in place of `grad_inputs`, or one
            NDArray where there is one input.

        Returns
        -------
        HookHandle
            Its ``detach`` takes the hook away.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2, prefix="dense_")
        >>> net.initialize(mx.init.One())
        >>> def show(block, grad_inputs, grad_outputs):
        ...     print(block.name, grad_inputs[0].asnumpy(), grad_outputs[0].asnumpy())
        ...     return grad_inputs[0] * 10
        >>> handle = net.register_backward_hook(show)
        >>> x = mx.nd.ones((1, 2))
        >>> x.attach_grad()
        >>> with mx.autograd.record():
        ...     y = net(x) * 3
        >>> y.backward()
        dense [[3. 3.]] [[3.]]
        >>> x.grad.asnumpy().tolist()
        [[30.0, 30.0]]
        >>> handle.detach()
        """
        handle = HookHandle()
        handle.attach(self._backward_hooks, hook)
        count_block_change()
        return handle

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Call a function with the outputs of every operator of hybridized children.

        Parameters
        ----------
        callback : callable
            ``callback(node_name, operator_name, array)``.
        monitor_all : bool
            Also call it with the inputs of operators.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, activation="relu", prefix="dense_")
        >>> net.initialize()
        >>> net.hybridize()
        >>> net.register_op_hook(lambda node, operator, array: print(operator, array.shape))
        >>> _ = net(mx.nd.ones((4, 3)))
        FullyConnected (4, 2)
        Activation (4, 2)
        """
        require_callable(callback)
        for _, each in self._named_children():
            each.register_op_hook(callback, monitor_all)

    # --- computing --------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> NDArray:
        """Run `forward`, or its graph, and the hooks around it."""
        run = self.forward if self._select_forward is None else self._select_forward(args, kwargs)
        if self._forward_pre_hooks:
            for hook in list(self._forward_pre_hooks.values()):
                hook(self, args)
        call = hooked_call_or_none(self, args, kwargs) if self._backward_hooks else None
        if call is not None:
            args = call.args
        if SPANS_TRACED:
            with Span(self._name, "gluon"):
                out = run(*args, **kwargs)
        else:
            out = run(*args, **kwargs)
        if self._forward_hooks:
            for hook in list(self._forward_hooks.values()):
                hook(self, args, out)
        return out if call is None else call.wrap_outputs(out)

    def __getattr__(self, name: str) -> Any:
        if name in _ATTRS_FROM_INIT:
            raise NotFoundError(
                f"'{type(self).__name__}' object has no attribute '{name}': its __init__ must call"
                " super().__init__ first"
            )
        meant = name_hint("mx.gluon.block.Block", name)
        raise NotFoundError(f"'{type(self).__name__}' object has no attribute '{name}'{meant}")

    def forward(self, *args: Any) -> Any:
        """Compute the Block's outputs; a subclass defines this method.

        Parameters
        ----------
        *args : NDArray
            The inputs.

        Returns
        -------
        NDArray, or nested list or tuple of NDArray
            What a call of the Block returns.

        Raises
        ------
        UndefinedError
            The subclass does not define it.

        Examples
        --------
        >>> class Sum(mx.gluon.Block):
        ...     def forward(self, x, y):
        ...         return x + y
        ...
        >>> Sum()(mx.nd.ones(2), mx.nd.ones(2))
        [2. 2.]
        <NDArray 2 @cpu(0)>
        """
        raise UndefinedError(f"{type(self).__name__} defines no forward")

    def summary(self, *inputs: Any) -> None:
        """Print a table of the layers, with output shapes and parameter counts.

        Parameters
        ----------
        *inputs : NDArray
            What `forward` takes.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, prefix="dense_")
        >>> net.initialize()
        >>> net.summary(mx.nd.ones((4, 3)))
        ---...
        Layer (type)  Output Shape  Param #
        ===...
        Input  (4, 3)  0
        Dense  (4, 2)  8
        ===...
        Total params: 8
        Trainable params: 8
        Non-trainable params: 0
        Shared params in forward computation graph: 0
        Unique parameters in model: 8
        ---...
        """
        from .summary import print_summary

        print_summary(self, inputs)


def _prefix_error_text(kind, given):
    """Return the error message for a prefix that is no str; layers are probably meant for `add`."""
    layers = given if isinstance(given, (list, tuple)) else [given]
    if layers and all(isinstance(each, Block) for each in layers):
        return (
            f"{kind}: prefix must be a str, got a layer ({shown(layers[0])}); layers are added "
            f"later: net = nn.{kind}(); net.add(first, second)"
        )
    return f"{kind}: prefix must be a str, got {shown(given)}"


def _indent_text(text):
    first, *others = text.split("\n")
    return "\n".join([first, *(f"  {line}" for line in others)])
