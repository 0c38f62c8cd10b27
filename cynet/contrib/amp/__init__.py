"""mx.contrib.amp: no operator changes its dtype by itself; ``mx.gluon.autocast`` does by layer."""

from . import amp

__all__ = ["amp"]
