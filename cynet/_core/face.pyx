"""Faces of the arrays (contract in face.pxd)."""

from ..base.errors import ArgumentTypeError, shown
from ..base.np_shape import is_np_shape


cdef class Face:
    """The rules of a family of array functions, as ``mx.nd``.

    name (str): What an error calls it, as ``"mx.nd"``.
    scalars (bool or callable): Whether an array that has no axes left has the shape (), or a
        function that says it at each call; else the shape is (1,).
    key_of (callable, optional): ``key_of(array, key)`` gives the key of ``array[key]`` with NumPy
        arrays of bool in place of masks. By default what is of dtype bool is a mask.
    """

    def __init__(self, name, scalars=True, key_of=None):
        self.name, self.scalars, self.key_of = name, scalars, key_of
        self.sites = {}

    def set_array_class(self, cls):
        """Make `cls`, a subclass of NDArray, the class of this face's arrays.

        Raises ArgumentTypeError: `cls` is not a class.
        """
        if not isinstance(cls, type):
            raise ArgumentTypeError(f"the array class of a face is a class, got {shown(cls)}")
        self.array_class = cls
        cls._face = self

    def set_key_of(self, key_of):
        """Set which keys count as masks, see `key_of` above."""
        self.key_of = key_of

    @property
    def no_axes(self):
        """The shape of a result without axes: () or (1,)."""
        return () if self.has_scalars() else (1,)

    cdef bint has_scalars(self) except -1:
        return True if self.scalars is True else self.scalars()

    def __repr__(self):
        return f"<Face {self.name}>"


cdef Face ND = Face("mx.nd", is_np_shape)
legacy_face = ND
