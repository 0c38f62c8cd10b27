"""Face: the rules of a family of array functions (contract in face.pxd)."""

from ..base.errors import ArgumentTypeError, shown
from ..base.np_shape import is_np_shape


cdef class Face:  # rules of a family of array functions, as mx.nd
    """The rules of a family of array functions, as ``mx.nd``.

    name (str): What an error calls it, as ``"mx.nd"``.
    scalars (bool or callable): Whether an array that has no axes left has the shape (), or a
        function that says it at each call; else the shape is (1,).
    read_masks (callable, optional): ``read_masks(array, key)`` returns the key of ``array[key]``
        with NumPy arrays of bool in place of masks. By default what is of dtype bool is a mask.
    """

    def __init__(self, name, scalars=True, read_masks=None):
        self.name, self.scalars, self.read_masks = name, scalars, read_masks
        self.sites = {}

    def set_array_class(self, cls):
        """Make `cls`, a subclass of NDArray, the class of this face's arrays.

        Raises ArgumentTypeError: `cls` is not a class.
        """
        if not isinstance(cls, type):
            raise ArgumentTypeError(f"the array class of a face is a class, got {shown(cls)}")
        self.array_class = cls
        cls._face = self

    def set_mask_key_converter(self, read_masks):
        """Set the function `read_masks`, which decides what counts as a mask."""
        self.read_masks = read_masks

    @property
    def no_axes(self):  # shape of a result without axes
        """Return the shape of a result without axes: () or (1,)."""
        return () if self.has_0d_results() else (1,)

    cdef bint has_0d_results(self) except -1:
        return True if self.scalars is True else self.scalars()

    def __repr__(self):
        return f"<Face {self.name}>"


cdef Face ND = Face("mx.nd", is_np_shape)  # the rules of mx.nd's arrays
legacy_face = ND  # ND for Python code
