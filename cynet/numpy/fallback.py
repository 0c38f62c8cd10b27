"""The functions of mx.np that MXNet 1.9.1 delegates to NumPy, by name.

Most are native here; ``dispatch.HOST_NAMES`` are the rest.
"""

import numpy as onp

from ..base.errors import NotFoundError, shown

_FUNCTION_NAMES = """
allclose alltrue apply_along_axis apply_over_axes argpartition argwhere array_equal array_equiv
choose compress corrcoef correlate count_nonzero cov digitize divmod extract flatnonzero
float_power frexp heaviside histogram2d histogram_bin_edges histogramdd i0 in1d interp intersect1d
isclose isin ix_ lexsort min_scalar_type mirr modf msort nanargmax nanargmin nancumprod nancumsum
nanmax nanmedian nanmin nanpercentile nanprod nanquantile ndim npv partition piecewise packbits
poly polyadd polydiv polyfit polyint polymul polysub positive ppmt promote_types ptp pv rate real
result_type rollaxis roots searchsorted select setdiff1d setxor1d signbit size spacing
take_along_axis trapz tril_indices_from trim_zeros triu_indices_from union1d unpackbits unwrap
vander
"""
# functions that NumPy has removed cannot be called by name there
__all__ = [name for name in _FUNCTION_NAMES.split() if hasattr(onp, name)]


def __getattr__(name):
    from .. import numpy as face

    if name not in __all__:
        raise NotFoundError(f"module 'mx.np.fallback' has no attribute {shown(name)}")
    return getattr(face, name)
