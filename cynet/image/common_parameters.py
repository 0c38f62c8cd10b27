"""Descriptions of parameters that docstrings of mx.image have in common.

Parameters
----------
area : float or (float, float)
    Smallest and largest area of the crop, as a share of the image's area; one number is the
    smallest, and the largest is 1.
array : numpy.ndarray
    Shape (H, W, C). It stays as it is.
data_name, label_name : str
    Names in ``provide_data`` and ``provide_label``.
inter_method : int
    Method of interpolation, see :func:`imresize`.
interp : int
    Method of interpolation, see :func:`imresize`.
min_area : float, optional
    Deprecated name of `area`.
pad_val : tuple of float
    Color of the border.
rand_gray : float
    Probability that an image becomes gray.
rand_mirror : bool
    Mirror half of the images.
ratio : (float, float)
    Smallest and largest ratio of width to height of the crop.
size : tuple of int
    Width and height.
src : NDArray
    An image (height, width, channels).
to_rgb : bool
    Order the colors red, green, blue; if False, blue, green, red.
zoom_in : bool
    Enlarge the image until nothing outside of it is visible.
zoom_out : bool
    Shrink the image until all of it is visible.
"""

from ..operator.paragraphs import share_parameters

share_parameters(__package__, __doc__)
