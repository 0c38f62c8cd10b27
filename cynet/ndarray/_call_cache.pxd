"""Keys of imperative calls: equal only where the same Call serves."""

# Device, dtypes and shapes of the arrays (NDArrayBase), as bytes.
cdef bytes pack(list given, int dev_type, int dev_id)
# A parameter's value.
cdef object freeze(object value)
