"""Methods of Block that write files and read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.errors import warn_user
from ...base.guard import PER_BATCH_METHODS, Guarded
from . import files

if TYPE_CHECKING:
    from ...typing import FileName
    from ..parameter.parameter import Contexts


class BlockFiles(Guarded):  # base of Block: saves and loads parameters
    """Base of Block: saves and loads its parameters."""

    _unguarded = (*PER_BATCH_METHODS, "hybrid_forward", "__call__", "step")

    def save_parameters(self, filename: FileName, deduplicate: bool = False) -> None:
        """Write all parameters under their structural names, which no prefix changes.

        Parameters
        ----------
        filename : str
            The file to write; ``.npz`` or ``.safetensors`` at its end selects another format.
        deduplicate : bool
            Write a shared parameter only once.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.save_parameters("net.params")
        >>> sorted(mx.nd.load("net.params"))
        ['bias', 'weight']
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
            A file of `save_parameters` or ``collect_params().save``, or the ``.params`` file of
            `export`.
        ctx : Context or list of Context, optional
            Devices of parameters that are not initialized yet; the CPU by default.
        dtype_source : str
            With `cast_dtype`: ``'current'`` keeps the parameter's dtype, ``'saved'`` takes the
            file's.

        Raises
        ------
        MismatchError
            An AssertionError; it lists what is missing, superfluous or of another shape.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize(mx.init.One())
        >>> net.save_parameters("net.params")
        >>> same = mx.gluon.nn.Dense(2)
        >>> same.load_parameters("net.params")
        >>> same.weight.data()
        [[1. 1. 1.]
         [1. 1. 1.]]
        <NDArray 2x3 @cpu(0)>
        """
        files.load_parameters(
            self, filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source
        )

    def save_params(self, filename: FileName) -> None:
        """Write parameters under names without the prefix; deprecated, see `save_parameters`.

        Parameters
        ----------
        filename : str
            The file to write.

        Examples
        --------
        >>> import warnings
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", DeprecationWarning)
        ...     net.save_params("net.params")
        ...     net.load_params("net.params")
        ...
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
            The file to read.
        ctx : Context or list of Context, optional
            Devices of parameters that are not initialized yet; the CPU by default.
        allow_missing : bool
            Leave parameters as they are if the file lacks them.
        ignore_extra : bool
            Skip names in the file that are not parameters.

        Examples
        --------
        >>> import warnings
        >>> net = mx.gluon.nn.Dense(2, in_units=3)
        >>> net.initialize()
        >>> net.save_parameters("net.params")
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore", DeprecationWarning)
        ...     net.load_params("net.params")
        ...
        """
        warn_user("load_params is deprecated for load_parameters", DeprecationWarning)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: str) -> None:
        """Write ``prefix-model.json``, the structure, and ``prefix-model.params``.

        Parameters
        ----------
        prefix : str
            Beginning of the two files' names.

        Examples
        --------
        >>> net = mx.gluon.nn.HybridSequential(prefix="net_")
        >>> net.add(mx.gluon.nn.Dense(2, in_units=3))
        >>> net.initialize()
        >>> net.save("net")
        >>> net.load("net")
        """
        files.save_model(self, prefix)

    def load(self, prefix: str) -> None:
        """Load a file of `save` into a Block of the same structure.

        Parameters
        ----------
        prefix : str
            Beginning of the two files' names.

        Examples
        --------
        >>> net = mx.gluon.nn.HybridSequential()
        >>> net.add(mx.gluon.nn.Dense(2, in_units=3))
        >>> net.initialize(mx.init.One())
        >>> net.save("net")
        >>> same = mx.gluon.nn.HybridSequential()
        >>> same.add(mx.gluon.nn.Dense(2, in_units=3))
        >>> same.load("net")
        >>> same(mx.nd.ones((1, 3)))
        [[3. 3.]]
        <NDArray 1x2 @cpu(0)>
        """
        files.load_model(self, prefix)
