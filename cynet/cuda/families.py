"""The project's own kernels: the compiled instances of the templates in cuda/kernels/.

Functors, reducers and update rules are those of the table of kernels, so that what is added there
has its kernel.
"""

from pathlib import Path

from ..base.errors import ArgumentError
from ..kernels.table import functors, reducers, update_rules

KERNEL_FOLDER = Path(__file__).parent / "kernels"  # folder of the .cu files
TABLE_FOLDER = Path(__file__).parent.parent / "kernels"  # folder of headers shared with the CPU
NARROW_FLOATS = ("cynet::half", "cynet::bfloat16")  # computed in float
FLOATS = ("float", "double", *NARROW_FLOATS)  # C++ types of elements
INTEGERS = ("unsigned char", "signed char", "int", "long long")  # C++ types of elements
NUMBERS = FLOATS + INTEGERS  # C++ types of elements
ANY_TYPE = (*NUMBERS, "bool")  # C++ types of elements
NARROW_TYPES = (*NARROW_FLOATS, "unsigned char", "signed char")  # C++ types of elements


# source -> (templates, the types each of them has instances for)
TEMPLATES = {  # name of a .cu file -> [(its kernels, their types)]
    "batch_norm": [
        ("inverse_deviation move_statistics", ("float", "double")),
        (
            "channel_sums channel_scale",
            ("float, float", "double, double", *(f"{kind}, float" for kind in NARROW_FLOATS)),
        ),
    ],
    "fill": [("progression eye", ANY_TYPE)],
    "index": [
        ("copy take_grad gather retain_rows scatter_add scatter pick pick_grad one_hot", NUMBERS),
        ("pad pad_grad sequence_mask", NUMBERS),
    ],
    "normalization": [
        ("moments normalize normalize_grad scale_grad scale_grad_parts", FLOATS),
        ("l2_norm l2_norm_grad", FLOATS),
        ("local_response local_response_parts local_response_grad prelu prelu_slopes_grad", FLOATS),
    ],
    "loss": [
        ("difference_grad count_above count_not_finite divided_gradient hinge_grad", FLOATS),
        ("cross_entropy cross_entropy_grad", FLOATS),
    ],
    "sort": [
        ("sort_chunks sort_pass gather_ordered scatter_ordered running_sum", NUMBERS),
        (
            "find_extreme",  # output indices are float if T is a narrow type
            tuple(f"{kind}, {'float' if kind in NARROW_TYPES else kind}" for kind in NUMBERS),
        ),
    ],
    "pooling": [("pool pool_argmax pool_grad", FLOATS)],
    "pooling_v1": [("pool_v1 pool_v1_grad", FLOATS)],
    "random": [
        ("draw mask dropout_factors weight_sums log_probability log_probability_grad", FLOATS),
        ("draw_integers", ("int", "long long")),
    ],
    "where_clip": [("where clip clip_grad hard_sigmoid hard_sigmoid_grad", NUMBERS)],
    "softmax": [("softmax softmax_grad softmax_output_grad count_labels", FLOATS)],
}


def _functor_kernel_names(template, table):
    for name, whole in functors(table).items():
        for kind in FLOATS + (INTEGERS if whole else ()):
            yield f"{template}<cynet::functor::{name}, {kind}>"


def _update_kernel_names():
    for rule, (_, there, on_masters) in update_rules().items():
        if not there:
            continue
        yield f"update<cynet::{rule}, float, float, float, false>"
        yield f"update<cynet::{rule}, double, double, double, false>"
        for kind in NARROW_FLOATS:
            yield f"update<cynet::{rule}, {kind}, {kind}, float, false>"
            if on_masters:
                yield f"update<cynet::{rule}, {kind}, float, float, true>"


def kernel_instances(source):
    """Names of the kernels of ``cuda/kernels/SOURCE.cu``, the instances of its templates.

    Returns list of str: what `EmulatedModule` takes as `exports`, and what nvcc is to instantiate.
    Raises ValueError when there is no such source.
    """
    if source in TEMPLATES:
        rows = TEMPLATES[source]
        found = [f"{name}<{t}>" for names, types in rows for name in names.split() for t in types]
    elif source == "elementwise":
        found = [
            *_functor_kernel_names("unary", "unary"),
            *_functor_kernel_names("unary_grad", "unary_grad"),
            *_functor_kernel_names("binary", "binary"),
            *_functor_kernel_names("binary_grad", "binary_grad"),
        ]
    elif source == "broadcast":
        found = [
            *_functor_kernel_names("broadcast", "binary"),
            *_functor_kernel_names("broadcast_grad", "binary_grad"),
        ]
    elif source == "reduce":
        names = "reduce", "reduce_columns", "merge_parts"
        found = [f"{n}<cynet::{r}, {t}>" for n in names for r in reducers() for t in NUMBERS]
    elif source == "cast":
        found = [f"cast<{a}, {b}>" for a in NUMBERS for b in ANY_TYPE]
    elif source == "update":
        found = [*_update_kernel_names()]
    elif source == "strided":
        found = [f"assign<{d}, {s}>" for d in ANY_TYPE for s in ANY_TYPE]
        found += [f"fill<{w}>" for w in ("unsigned char", "unsigned short", "int", "long long")]
    else:
        raise ArgumentError(f"no source {source!r} among {', '.join(cu_sources())}")
    return found


def must_match_cpu(source):
    """Return whether a source is compiled without joining products and sums (``-fmad=false``,
    ``-ffp-contract=off``): its results have to equal the CPU's.

    >>> must_match_cpu("random"), must_match_cpu("softmax")
    (True, False)
    """
    return source == "random"


def nvcc_options(source):
    """The nvcc options of one source, a tuple of str, beyond the common ones."""
    compared = ("-diag-suppress=186",)  # the templates compare unsigned values with 0
    return ("-fmad=false", *compared) if must_match_cpu(source) else compared


def cu_sources():
    """Names of the sources in cuda/kernels/, sorted."""
    return sorted(path.stem for path in KERNEL_FOLDER.glob("*.cu"))


def source_text(source):
    """The text of a source."""
    return (KERNEL_FOLDER / f"{source}.cu").read_text()
