"""Block: a part of a network, with parameters, children, names and files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import (
    ArgumentTypeError,
    NotFoundError,
    UndefinedError,
    shown,
    warn_user,
)
from ...base.guard import guarded
from ...engine.trace import ON, Span
from ...libinfo import hint
from ..errors import MismatchError
from ..parameter import Parameter, ParameterDict
from ..parameter.parameter import UNIFORM
from ..tracing import changed
from . import files
from .children import blocks_within
from .hooks import HookHandle, Hooks, require_callable
from .scope import BlockScope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...typing import DTypeLike, FileName, InitializerLike, NDArray
    from ..parameter.parameter import Contexts

_MADE_BY_INIT = {"_children", "_reg_params", "_forward_hooks", "_forward_pre_hooks", "_scope"}


@guarded(but=("__call__", "forward", "__setattr__", "__delattr__"))
class Block:
    """A part of a network: it has parameters and other Blocks, and `forward` computes.

    Blocks and Parameters that become attributes are registered, and so are Blocks in lists, tuples
    and dicts that are attributes. The name of a Parameter that no Block has yet gets this one's
    prefix.

    Parameters
    ----------
    prefix : str, optional
        Before the names of its parameters and children; made up from the class's name by default.
    params : ParameterDict, optional
        Whose parameters it shares, by name.

    Raises
    ------
    ArgumentTypeError
        A value has another type; the message names it.

    Examples
    --------
    >>> import cynet as mx
    >>> class Twice(mx.gluon.Block):
    ...     def __init__(self, **kwargs):
    ...         super().__init__(**kwargs)
    ...         with self.name_scope():
    ...             self.dense = mx.gluon.nn.Dense(2)
    ...     def forward(self, x):
    ...         return self.dense(x) * 2
    >>> net = Twice(prefix="twice_")
    >>> net.initialize(mx.init.One())
    >>> net(mx.nd.ones((1, 3))).asnumpy().tolist()
    [[6.0, 6.0]]
    >>> list(net.collect_params().keys())
    ['twice_dense0_weight', 'twice_dense0_bias']
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        if prefix is not None and not isinstance(prefix, str):
            raise ArgumentTypeError(
                f"{type(self).__name__}: prefix must be a str, got {shown(prefix)}"
            )
        set_ = super().__setattr__
        set_("_children", {})
        set_("_reg_params", {})
        set_("_forward_hooks", Hooks())
        set_("_forward_pre_hooks", Hooks())
        set_("_empty_prefix", prefix == "")
        prefix, params = BlockScope.create(prefix, params, self._alias())
        set_("_prefix", prefix)
        set_("_params", params)
        set_("_name", prefix[:-1] if prefix.endswith("_") else prefix)
        set_("_scope", BlockScope(self))

    def _alias(self):
        """What made-up prefixes begin with."""
        return type(self).__name__.lower()

    def __repr__(self) -> str:
        rows = [f"  ({name}): {_indented(repr(each))}" for name, each in self._named_children()]
        return f"{type(self).__name__}(\n" + "\n".join(rows) + "\n)"

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
            self._params._adopt(value, name)
        super().__setattr__(name, value)
        changed()

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        changed()

    # --- names ------------------------------------------------------------------------------------
    @property
    def prefix(self) -> str:
        """Before the names of its parameters."""
        return self._prefix

    @property
    def name(self) -> str:
        """The prefix without its last underscore."""
        return self._name

    def name_scope(self) -> BlockScope:
        """A scope for ``with``: Blocks made inside get this one's prefix before theirs."""
        return self._scope

    # --- children ---------------------------------------------------------------------------------
    def _named_children(self) -> Iterator[tuple[str, Block]]:
        """Pairs of structural name and child, those in lists and dicts behind the others."""
        yield from self._children.items()
        yield from blocks_within(self, Block)

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Make `block` a child, under `name` or its running number.

        Parameters
        ----------
        name : str
            Its name.

        Raises
        ------
        ArgumentTypeError
            A value has another type; the message names it.
        """
        if not isinstance(block, Block):
            raise ArgumentTypeError(f"a child must be a Block, got {shown(block)}")
        self._children[str(len(self._children)) if name is None else name] = block
        changed()

    def apply(self, fn: Callable[[Block], Any]) -> Block:
        """Call `fn` with every child and this Block, children first; returns this Block.

        Parameters
        ----------
        fn : callable
            Takes a sample, or a Block.

        Returns
        -------
        Block
            This one.
        """
        for _, each in self._named_children():
            each.apply(fn)
        fn(self)
        return self

    # --- parameters -------------------------------------------------------------------------------
    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without those of children."""
        return self._params

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Its parameters and those of all children.

        Parameters
        ----------
        select : str, optional
            A regular expression that names match from their beginning: ``'.*weight|.*bias'``.

        Returns
        -------
        ParameterDict
        """
        return files.collected(self, select)

    def _collect_params_with_prefix(self, prefix=""):
        """Dict of structural name (``0.weight``) to Parameter."""
        if prefix:
            prefix += "."
        found = {prefix + name: each for name, each in self._reg_params.items()}
        for name, child in self._named_children():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def initialize(
        self,
        init: InitializerLike = UNIFORM,
        ctx: Contexts | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialize all parameters, its own and those of children.

        Parameters
        ----------
        init : Initializer or str
            For parameters without one of their own; biases of layers have one.
        ctx : Context or list of Context, optional
            Each gets a copy.
        verbose : bool
            Log each.
        force_reinit : bool
            Also those that are initialized.
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def freeze(self, select: str = "") -> list[str]:
        """Ask for no gradient of parameters, so that training leaves them.

        Parameters
        ----------
        select : str
            A regular expression that structural names (``features.0.weight``) match from their
            beginning; all by default.

        Returns
        -------
        list of str
            The names that matched.
        """
        return files.set_frozen(self, select, True)

    def unfreeze(self, select: str = "") -> list[str]:
        """Undo `freeze`; the names that matched and were frozen.

        Parameters
        ----------
        select : str
            Regular expression of names, structural or whole; all by default.

        Returns
        -------
        list of str
        """
        return files.set_frozen(self, select, False)

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of all parameters.

        Parameters
        ----------
        dtype : str or numpy.dtype
            Type of the elements.
        """
        for _, each in self._named_children():
            each.cast(dtype)
        for each in self._params.values():
            each.cast(dtype)
        changed()

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize every HybridBlock among the children."""
        for _, each in self._named_children():
            each.hybridize(active, **kwargs)

    # --- files ------------------------------------------------------------------------------------
    def save_parameters(self, filename: FileName, deduplicate: bool = False) -> None:
        """Write all parameters under their structural names, which no prefix changes.

        Parameters
        ----------
        filename : str
        deduplicate : bool
            Write a shared parameter once.
        """
        files.save_parameters(self, filename, deduplicate)

    def load_parameters(
        self,
        filename: FileName,
        ctx: Contexts | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read parameters; they need not be initialized.

        Parameters
        ----------
        filename : str
            Of `save_parameters`, of ``collect_params().save``, or the ``.params`` of `export`.
        ctx : Context or list of Context, optional
        allow_missing, ignore_extra : bool
            Leave parameters that the file lacks; pass over names that are no parameters.
        cast_dtype : bool
            Take arrays of another dtype.
        dtype_source : str
            ``'current'`` or ``'saved'``: whose dtype holds then.

        Raises
        ------
        MismatchError
            An AssertionError; it lists what is missing, superfluous or of another shape.
        """
        files.load_parameters(
            self, filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source
        )

    def save_params(self, filename: FileName) -> None:
        """Deprecated, `save_parameters`: under names without the prefix.

        Parameters
        ----------
        filename : str
            The file.
        """
        warn_user("save_params is deprecated for save_parameters", DeprecationWarning)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self,
        filename: FileName,
        ctx: Contexts | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> None:
        """Deprecated, `load_parameters`.

        Parameters
        ----------
        filename : str
            The file.
        ctx : Context or list of Context, optional
            The device; the current one by default.
        allow_missing : bool
            Pass over what is not given.
        ignore_extra : bool
            Pass over names that are not there.
        """
        warn_user("load_params is deprecated for load_parameters", DeprecationWarning)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Write ``prefix-model.json``, the structure, and ``prefix-model.params``.

        Parameters
        ----------
        prefix : str, optional
            Beginning of the names of parameters; by default one with a number.
        """
        files.save_model(self, prefix)

    def load(self, prefix: str) -> None:
        """Read what `save` wrote into a Block of the same structure.

        Parameters
        ----------
        prefix : str, optional
            Beginning of the names of parameters; by default one with a number.
        """
        files.load_model(self, prefix)

    # --- hooks ------------------------------------------------------------------------------------
    def register_forward_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs, output)`` after each `forward`; what it returns is ignored.

        Parameters
        ----------
        hook : callable
            What is called.

        Returns
        -------
        HookHandle
            Its ``detach`` takes the hook away.
        """
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        changed()
        return handle

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(block, inputs)`` before each `forward`.

        Parameters
        ----------
        hook : callable
            What is called.

        Returns
        -------
        HookHandle
            Its ``detach`` takes the hook away.
        """
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        changed()
        return handle

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Call ``callback(node_name, operator_name, array)`` for the outputs of every operator of
        hybridized children; with `monitor_all` for inputs, too."""
        require_callable(callback)
        for _, each in self._named_children():
            each.register_op_hook(callback, monitor_all)

    # --- computing --------------------------------------------------------------------------------
    def __call__(self, *args: Any, **kwargs: Any) -> NDArray:
        """`forward`, with the hooks around it."""
        if self._forward_pre_hooks:
            for hook in list(self._forward_pre_hooks.values()):
                hook(self, args)
        if ON:
            with Span(self._name, "gluon"):
                out = self.forward(*args, **kwargs)
        else:
            out = self.forward(*args, **kwargs)
        if self._forward_hooks:
            for hook in list(self._forward_hooks.values()):
                hook(self, args, out)
        return out

    def __getattr__(self, name: str) -> Any:
        if name in _MADE_BY_INIT:
            raise NotFoundError(
                f"'{type(self).__name__}' object has no attribute '{name}': its __init__ must call"
                " super().__init__ first"
            )
        meant = hint("mx.gluon.block.Block", name)
        raise NotFoundError(f"'{type(self).__name__}' object has no attribute '{name}'{meant}")

    def forward(self, *args: Any) -> Any:
        """What the Block computes; subclasses define it."""
        raise UndefinedError(f"{type(self).__name__} defines no forward")

    def summary(self, *inputs: Any) -> None:
        """Print a table of the layers, with output shapes and numbers of parameters, for inputs
        as `forward` takes them."""
        from .summary import print_summary

        print_summary(self, inputs)


def _indented(text):
    first, *others = text.split("\n")
    return "\n".join([first, *(f"  {line}" for line in others)])
