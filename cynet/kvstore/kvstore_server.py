"""mx.kvstore.kvstore_server: the name of MXNet's server process; cynet has no servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import CynetError

if TYPE_CHECKING:
    from .base import KVStoreBase

__all__ = ["KVStoreServer"]


class KVStoreServer:
    """The name of MXNet's parameter server; cynet has none: every rank stores the parameters.

    Parameters
    ----------
    kvstore : KVStore
        The store whose parameters it would keep.

    Raises
    ------
    CynetError
        From ``run``: there are no servers.

    Examples
    --------
    >>> server = mx.kvstore.kvstore_server.KVStoreServer(mx.kv.create("local"))
    >>> try:
    ...     server.run()
    ... except mx.MXNetError as error:
    ...     print(str(error)[:40])
    KVStoreServer: there is no server to run
    """

    def __init__(self, kvstore: KVStoreBase) -> None:
        self.kvstore = kvstore

    def run(self) -> None:
        """Raise an error: a process of ``DMLC_ROLE=server`` has nothing to do.

        Raises
        ------
        CynetError
            Always: there are no servers.
        """
        raise CynetError(
            "KVStoreServer: there is no server to run: every process of mx.kv.create('dist_sync')"
            " keeps the parameters, and python -m cynet.launch starts them"
        )
