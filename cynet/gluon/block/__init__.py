"""mx.gluon.block: Block and HybridBlock, the base of networks, and SymbolBlock."""

from .block import Block
from .compiled import compile
from ...autograd.hooks import HookHandle
from .hybrid_block import HybridBlock
from .scope import BlockScope as _BlockScope
from .structure import flatten as _flatten
from .structure import regroup as _regroup
from .symbol_block import SymbolBlock

__all__ = ["Block", "HookHandle", "HybridBlock", "SymbolBlock", "compile"]
