"""mx.kvstore.kvstore_server: the name of MXNet's server process, which is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import CynetError

if TYPE_CHECKING:
    from .base import KVStoreBase

__all__ = ["KVStoreServer"]


class KVStoreServer:
    """Would keep the parameters of several machines; cynet trains on one.

    Parameters
    ----------
    kvstore : KVStore

    Raises
    ------
    CynetError
        From ``run``: there are no servers.
    """

    def __init__(self, kvstore: KVStoreBase) -> None:
        self.kvstore = kvstore

    def run(self) -> None:
        """Refused: a process of ``DMLC_ROLE=server`` has nothing to do."""
        raise CynetError(
            "KVStoreServer: cynet has no key-value store over several machines, so there is no"
            " server to run; train on one machine with mx.kv.create('local') or 'device'"
        )
