"""calibrate_entropy: the threshold at which a histogram of values is best cut off for 8 bits."""

from ...base.errors import ShapeError
from ..checks.shapes import unify_shapes
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Int
from .ranges import ONE, NanCheck

_OUTPUT_NAMES = ("threshold", "divergence")  # scalars that calibration finds


class CalibrateEntropyProperty(NanCheck, KernelProperty, operator="_contrib_calibrate_entropy"):
    """The threshold that loses least of a distribution when values beyond it are cut off.

    `hist` counts values in bins around 0. For every threshold that leaves at least
    `num_quantized_bins` bins, those within are merged into that many; `divergence` is the smallest
    divergence (Kullback and Leibler) of what these tell from what was counted.
    """

    num_quantized_bins = Int(255, doc="How many bins are kept.", low=1)

    differentiable = False
    inputs_doc = {
        "hist": "Counts (bins,), an odd number of bins, float32.",
        "hist_edges": "The edges of the bins, (bins + 1,).",
    }
    forward = Kernel("calibrate_entropy", ("hist", "hist_edges"), _OUTPUT_NAMES, whole=True)
    float_types = ("float32",)
    output_names = _OUTPUT_NAMES
    example = """
    >>> counts, edges = mx.nd.array([1, 6, 9, 6, 1]), mx.nd.array([-5, -3, -1, 1, 3, 5])
    >>> mx.nd.contrib.calibrate_entropy(counts, edges, num_quantized_bins=3)[0]
    [3.]
    <NDArray 1 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        hist = unify_shapes("hist", in_shapes[0], (0,))
        edges = unify_shapes("hist_edges", in_shapes[1], (hist[0] and hist[0] + 1,))
        hist = unify_shapes("hist", hist, (edges[0] and edges[0] - 1,))
        if hist[0] and (hist[0] % 2 == 0 or hist[0] < self.num_quantized_bins):
            raise ShapeError(
                f"hist has {hist[0]} bins, expected an odd number of at least num_quantized_bins "
                f"{self.num_quantized_bins}"
            )
        outs = [unify_shapes(name, s, ONE) for name, s in zip(_OUTPUT_NAMES, out_shapes)]
        return [hist, edges], outs, []

    def kernel_params(self, in_shapes):
        return {"bins": in_shapes[0][0], "quantized_bins": self.num_quantized_bins}

    def cost_elements(self, in_shapes):
        return in_shapes[0][0] ** 2
