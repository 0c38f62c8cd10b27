"""mx.np.fft: Fourier transforms of any axes, with gradients.

There is no complex dtype: what NumPy has as a complex array has one axis more at its end here, of
the real and the imaginary parts. `n`, `s`, `axis` and `axes` count the other axes alone.
"""

from ..base.errors import ArgumentTypeError, ShapeError, shown
from ..base.kinds import to_count, to_index
from ..operator.paragraphs import share_parameters
from . import shapes
from ._call import ops
from .least_squares import as_floats
from .padding import pad

__all__ = ["fft", "fft2", "fftn", "ifft", "ifft2", "ifftn", "irfft", "irfft2", "irfftn", "rfft"]
__all__ += ["rfft2", "rfftn"]


def _norm_factor(norm, n, inverse, who):
    """The factor of a transform of n numbers."""
    powers = {None: inverse, "backward": inverse, "ortho": 0.5, "forward": not inverse}
    if norm not in powers:
        raise ArgumentTypeError(
            f"mx.np.fft.{who}: norm is 'backward', 'ortho' or 'forward', got {shown(norm)}"
        )
    return float(n) ** -float(powers[norm])


def _split_real_imag(z, who):
    """The real and imaginary parts of an array (..., 2)."""
    z = as_floats(z, f"fft.{who}")
    if z.ndim < 2 or z.shape[-1] != 2:
        raise ShapeError(
            f"mx.np.fft.{who} takes real and imaginary parts in the last axis, of length 2, got"
            f" the shape {z.shape}"
        )
    return z[..., 0], z[..., 1]


def _as_real_array(x, who):
    x = as_floats(x, f"fft.{who}")
    if not x.ndim:
        raise ShapeError(f"mx.np.fft.{who} takes an array of one axis at least, got shape ()")
    return x


def _axes_and_lengths(x, s, axes, who):
    """[(axis from the front, length)] of a transform."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    found = []
    for axis in axes:
        at = to_index(f"mx.np.fft.{who}: an axis", axis)
        if not -x.ndim <= at < x.ndim:
            raise ShapeError(f"mx.np.fft.{who}: axis {at} is not one of {x.ndim}")
        found.append(at % x.ndim)
    if s is not None and len(s) != len(found):
        raise ShapeError(
            f"mx.np.fft.{who}: s has {len(s)} lengths for {len(found)} axes, got {shown(s)}"
        )
    lengths = [None] * len(found) if s is None else s
    for n in lengths:
        if n is not None:
            to_count(f"mx.np.fft.{who}: a length", n)
    if not found:
        raise ShapeError(f"mx.np.fft.{who} takes one axis at least")
    return list(zip(found, lengths))


def _pad_as_last_axis(x, axis, n):
    """Move an axis to the end, and cut it or pad it with zeros to a length."""
    x = shapes.swapaxes(x, axis, -1)
    have = x.shape[-1]
    if n is None or n == have:
        return x
    if n < have:
        return x[..., :n]
    return pad(x, [(0, 0)] * (x.ndim - 1) + [(0, n - have)])


def _spectrum_of_lines(x):
    """The spectrum of real lines, its real and imaginary part."""
    n = x.shape[-1]
    if not n:
        raise ShapeError(f"mx.np.fft: a transform of no numbers, the shape is {x.shape}")
    pairs = ops._contrib_fft(x).reshape((*x.shape[:-1], n, 2))
    return pairs[..., 0], pairs[..., 1]


def _transform_axis(re, im, axis, n, norm, inverse, who):
    """The transform along an axis; the inverse is computed by conjugation before and after."""
    re, im = _pad_as_last_axis(re, axis, n), _pad_as_last_axis(im, axis, n)
    factor = _norm_factor(norm, re.shape[-1], inverse, who)
    (a, b), (c, d) = _spectrum_of_lines(re), _spectrum_of_lines(im)
    re, im = (a + d, c - b) if inverse else (a - d, b + c)
    return [shapes.swapaxes(each * factor, axis, -1) for each in (re, im)]


def _transform_axes_in_turn(z, s, axes, norm, inverse, who):
    re, im = _split_real_imag(z, who)
    for axis, n in reversed(_axes_and_lengths(re, s, axes, who)):
        re, im = _transform_axis(re, im, axis, n, norm, inverse, who)
    return shapes.stack([re, im], -1)


def _real_to_complex(x, s, axes, norm, who):
    x = _as_real_array(x, who)
    *others, (axis, n) = _axes_and_lengths(x, s, axes, who)
    lines = _pad_as_last_axis(x, axis, n)
    n = lines.shape[-1]
    factor = _norm_factor(norm, n, False, who)
    parts = [each[..., : n // 2 + 1] * factor for each in _spectrum_of_lines(lines)]
    re, im = (shapes.swapaxes(each, axis, -1) for each in parts)
    for axis, n in reversed(others):
        re, im = _transform_axis(re, im, axis, n, norm, False, who)
    return shapes.stack([re, im], -1)


def _complex_to_real(z, s, axes, norm, who):
    re, im = _split_real_imag(z, who)
    *others, (axis, n) = _axes_and_lengths(re, s, axes, who)
    for each, length in others:
        re, im = _transform_axis(re, im, each, length, norm, True, who)
    n = 2 * (re.shape[axis] - 1) if n is None else n
    if n < 1:
        raise ShapeError(f"mx.np.fft.{who}: give the length n of the result: half of it is one")
    half = n // 2 + 1
    pairs = shapes.stack([_pad_as_last_axis(re, axis, half), _pad_as_last_axis(im, axis, half)], -1)
    # the other half are conjugates: they double all but the first and, of an even length, the last
    bounds = [0, 1, max(1, (n + 1) // 2), half]
    parts = [
        pairs[..., begin:end, :] * factor
        for begin, end, factor in zip(bounds, bounds[1:], (1, 2, 1))
        if begin < end
    ]
    pairs = shapes.concatenate(parts, -2)
    pairs = pad(pairs, [(0, 0)] * (pairs.ndim - 2) + [(0, n - half), (0, 0)])
    lines = ops._contrib_ifft(pairs.reshape((*pairs.shape[:-2], 2 * n)))
    return shapes.swapaxes(lines * _norm_factor(norm, n, True, who), axis, -1)


def fft(a, n=None, axis=-1, norm=None):
    """The transform of complex numbers (..., 2) along an axis; see :func:`rfft` for real ones.

    Parameters
    ----------
    n : int, optional
        Length of the axis to transform: it is cut, or filled with zeros; all of it by default.

    Returns
    -------
    mx.np.ndarray
        Real and imaginary parts, (..., 2).

    Examples
    --------
    >>> mx.np.fft.fft(mx.np.array([[1, 0], [0, 0]]))
    array([[1., 0.],
           [1., 0.]])
    """
    return _transform_axes_in_turn(a, (n,), (axis,), norm, False, "fft")


def ifft(a, n=None, axis=-1, norm=None):
    """The inverse of :func:`fft`.

    Parameters
    ----------
    n : int, optional
        Length of the axis to transform: it is cut, or filled with zeros; all of it by default.

    Returns
    -------
    mx.np.ndarray
        Real and imaginary parts, (..., 2).

    Examples
    --------
    >>> mx.np.fft.ifft(mx.np.array([[1, 0], [1, 0]]))
    array([[1., 0.],
           [0., 0.]])
    """
    return _transform_axes_in_turn(a, (n,), (axis,), norm, True, "ifft")


def rfft(a, n=None, axis=-1, norm=None):
    """The first ``n // 2 + 1`` numbers (..., 2) of the transform of real numbers along an axis.

    Parameters
    ----------
    a : ndarray
        Real numbers.
    n : int, optional
        Length of the axis to transform: it is cut, or filled with zeros; all of it by default.
    axis : int
        The axis to transform.

    Returns
    -------
    mx.np.ndarray
        (..., n // 2 + 1, 2).

    Examples
    --------
    >>> mx.np.fft.rfft(mx.np.array([1, 2, 3, 4]))
    array([[10.,  0.],
           [-2.,  2.],
           [-2.,  0.]])
    """
    return _real_to_complex(a, (n,), (axis,), norm, "rfft")


def irfft(a, n=None, axis=-1, norm=None):
    """Real numbers of half a spectrum, the inverse of :func:`rfft`; give `n` if it is odd.

    Parameters
    ----------
    n : int, optional
        Length of the result; an even one by default.

    Returns
    -------
    mx.np.ndarray
        Real numbers.

    Examples
    --------
    >>> mx.np.fft.irfft(mx.np.array([[10, 0], [-2, 2], [-2, 0]]))
    array([1., 2., 3., 4.])
    """
    return _complex_to_real(a, (n,), (axis,), norm, "irfft")


def fft2(a, s=None, axes=(-2, -1), norm=None):
    """:func:`fftn` of two axes.

    Parameters
    ----------
    axes : sequence of int, optional
        The axes to transform, of which the last one, the pairs, is none; the last two by default.

    Returns
    -------
    mx.np.ndarray
        Real and imaginary parts, (..., 2).

    Examples
    --------
    >>> z = mx.np.ones((2, 2, 2))
    >>> mx.np.fft.fft2(z)[0, 0]
    array([4., 4.])
    """
    return _transform_axes_in_turn(a, s, axes, norm, False, "fft2")


def ifft2(a, s=None, axes=(-2, -1), norm=None):
    """:func:`ifftn` of two axes.

    Parameters
    ----------
    axes : sequence of int, optional
        The axes to transform, of which the last one, the pairs, is none; the last two by default.

    Returns
    -------
    mx.np.ndarray
        Real and imaginary parts, (..., 2).

    Examples
    --------
    >>> z = mx.np.ones((2, 2, 2))
    >>> mx.np.fft.ifft2(z)[0, 0]
    array([1., 1.])
    """
    return _transform_axes_in_turn(a, s, axes, norm, True, "ifft2")


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    """:func:`rfftn` of two axes.

    Parameters
    ----------
    a : ndarray
        Real numbers.
    axes : sequence of int, optional
        The axes to transform; the last two by default.

    Returns
    -------
    mx.np.ndarray
        (..., s[-1] // 2 + 1, 2).

    Examples
    --------
    >>> mx.np.fft.rfft2(mx.np.ones((2, 4))).shape
    (2, 3, 2)
    """
    return _real_to_complex(a, s, axes, norm, "rfft2")


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    """:func:`irfftn` of two axes.

    Parameters
    ----------
    s : sequence of int, optional
        Lengths of the result; that of the last axis is even by default.
    axes : sequence of int, optional
        The axes to transform, of which the last one, the pairs, is none; the last two by default.

    Returns
    -------
    mx.np.ndarray
        Real numbers.

    Examples
    --------
    >>> spectrum = mx.np.fft.rfft2(mx.np.ones((2, 4)))
    >>> mx.np.fft.irfft2(spectrum)
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    return _complex_to_real(a, s, axes, norm, "irfft2")


def fftn(a, s=None, axes=None, norm=None):
    """The transform of complex numbers (..., 2) along several axes.

    Parameters
    ----------
    axes : sequence of int, optional
        The axes to transform, of which the last one, the pairs, is none; all by default.

    Returns
    -------
    mx.np.ndarray
        Real and imaginary parts, (..., 2).

    Examples
    --------
    >>> z = mx.np.ones((2, 2, 2))
    >>> mx.np.fft.fftn(z)[0, 0]
    array([4., 4.])
    """
    return _transform_axes_in_turn(a, s, axes, norm, False, "fftn")


def ifftn(a, s=None, axes=None, norm=None):
    """The inverse of :func:`fftn`.

    Parameters
    ----------
    axes : sequence of int, optional
        The axes to transform, of which the last one, the pairs, is none; all by default.

    Returns
    -------
    mx.np.ndarray
        Real and imaginary parts, (..., 2).

    Examples
    --------
    >>> z = mx.np.ones((2, 2, 2))
    >>> mx.np.fft.ifftn(z)[0, 0]
    array([1., 1.])
    """
    return _transform_axes_in_turn(a, s, axes, norm, True, "ifftn")


def rfftn(a, s=None, axes=None, norm=None):
    """:func:`rfft` along the last of several axes, then :func:`fft` along the others.

    Parameters
    ----------
    a : ndarray
        Real numbers.
    axes : sequence of int, optional
        The axes to transform; all by default.

    Returns
    -------
    mx.np.ndarray
        (..., s[-1] // 2 + 1, 2).

    Examples
    --------
    >>> mx.np.fft.rfftn(mx.np.ones((2, 4))).shape
    (2, 3, 2)
    """
    return _real_to_complex(a, s, axes, norm, "rfftn")


def irfftn(a, s=None, axes=None, norm=None):
    """The inverse of :func:`rfftn`; give `s` if the length of the last axis is odd.

    Parameters
    ----------
    s : sequence of int, optional
        Lengths of the result; that of the last axis is even by default.
    axes : sequence of int, optional
        The axes to transform, of which the last one, the pairs, is none; all by default.

    Returns
    -------
    mx.np.ndarray
        Real numbers.

    Examples
    --------
    >>> spectrum = mx.np.fft.rfftn(mx.np.ones((2, 4)))
    >>> mx.np.fft.irfftn(spectrum)
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    return _complex_to_real(a, s, axes, norm, "irfftn")


share_parameters(
    __name__,
    """Parameters
----------
a : ndarray
    Real and imaginary parts, (..., 2).
axis : int
    The axis to transform, of which the last one, the pairs, is none.
norm : str
    Which way is divided by the length: ``'backward'`` (None: the same), ``'forward'``, or
    ``'ortho'`` for its root both ways.
s : sequence of int, optional
    Their lengths: they are cut, or filled with zeros.""",
)
