"""A batch of other shapes than the module was bound for: checked, and the module reshaped."""

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError
from ..io import DataDesc
from .batch_axes import checked_pad


class BatchShapes:
    """The part of Module that follows the shapes of batches; it lives on Module's attributes."""

    _plans_apart = True  # False: what is kept for its input shapes is a part of a bucket

    def _fit_shapes(self, data_batch):
        """Make the module's input shapes those of the batch."""
        # the `data` of a NumPy array is its memory
        data = None if hasattr(data_batch, "__array__") else getattr(data_batch, "data", None)
        if not isinstance(data, (list, tuple)):
            raise ArgumentTypeError(
                "a batch must have `data` and may have `label`, lists of arrays, as a DataBatch,"
                f" got {type(data_batch).__name__}"
            )
        if len(data) != len(self._data_shapes):
            raise ArgumentError(
                f"the batch has {len(data)} data arrays, the module takes"
                f" {len(self._data_shapes)}: {self._data_names}"
            )
        for array, desc in zip(data, self._data_shapes):
            try:
                fits = array.shape == desc.shape
            except AttributeError:
                raise ArgumentTypeError(
                    f"input '{desc.name}': the batch must have an NDArray or a NumPy array, got"
                    f" {type(array).__name__}"
                ) from None
            if not fits:
                self._reshape_for(data_batch)
                return
        # classes where distributions were bound, or the other way round: validation beside MixIter
        label = getattr(data_batch, "label", None)
        if label and self._label_shapes and len(label) == len(self._label_shapes):
            for array, desc in zip(label, self._label_shapes):
                if len(getattr(array, "shape", desc.shape)) != len(desc.shape):
                    self._reshape_for(data_batch)
                    return

    def _without_padding(self, outputs, pad):
        group = self._exec_group
        return group.without_padding(outputs, checked_pad(pad, group.batch_size))

    def _joined_axes(self, outputs):
        return [place[0] if place else 0 for place in self._exec_group.output_axes]

    def _reshape_for(self, data_batch):
        data_shapes = getattr(data_batch, "provide_data", None) or [
            DataDesc(desc.name, array.shape, desc.dtype, desc.layout)
            for desc, array in zip(self._data_shapes, data_batch.data)
        ]
        label_shapes = getattr(data_batch, "provide_label", None)
        labels = getattr(data_batch, "label", None)
        for old, new in zip(self._data_shapes, data_shapes):
            if len(old[1]) != len(new[1]):
                raise ShapeError(
                    f"input '{new[0]}': the batch has shape {tuple(new[1])}, bound was {old[1]}"
                )
        if not label_shapes and self._label_shapes:
            if labels:
                label_shapes = [
                    DataDesc(desc.name, array.shape, desc.dtype, desc.layout)
                    for desc, array in zip(self._label_shapes, labels)
                ]
            else:
                label_shapes = self._label_shapes_for(data_shapes[0])
        self.reshape(data_shapes, label_shapes)

    def _label_shapes_for(self, data):
        """The bound label shapes with the batch size of `data`, for a batch without labels."""
        size = data.shape[DataDesc.get_batch_axis(data.layout)]
        shapes = []
        for desc in self._label_shapes:
            shape = list(desc.shape)
            axis = DataDesc.get_batch_axis(desc.layout)
            shape[axis] = shape[axis] * size // self._exec_group.batch_size
            shapes.append(DataDesc(desc.name, shape, desc.dtype, desc.layout))
        return shapes
