"""SciPy's functions on arrays of mx.np, by the array API: results are those of NumPy arrays.

Run as a module it prints what failed as JSON, and the names of all. SciPy looks at SCIPY_ARRAY_API
when it is imported, so this needs a process of its own.
"""

import importlib
import json
import sys
import warnings

import numpy as np

RNG = np.random.default_rng(0)
TABLE = RNG.standard_normal((30, 4))
V, W = RNG.standard_normal(40), RNG.standard_normal(40)
SHARES = RNG.uniform(0.1, 0.9, 20)
ABOVE = RNG.uniform(0.5, 3, (10, 3))
LINE = np.linspace(0, 1, 21)
TAPS, POLES = np.asarray([1.0, 0.5]), np.asarray([1.0, -0.2])

# module: arguments, names of functions that take these
GROUPS = {
    "stats": [
        (
            (V,),
            "skew kurtosis zscore sem describe skewtest kurtosistest normaltest jarque_bera "
            "tmean tvar tmin tmax tstd tsem circmean circvar circstd differential_entropy mode iqr "
            "sigmaclip rankdata lmoment cumfreq",
        ),
        (
            (V, W),
            "zmap ttest_ind ttest_rel pearsonr spearmanr bartlett levene f_oneway kruskal "
            "mannwhitneyu wilcoxon alexandergovern fligner mood ansari",
        ),
        ((ABOVE,), "gmean hmean gzscore variation gstd"),
        ((ABOVE[:, 0],), "entropy power_divergence chisquare"),
        ((ABOVE, 2.0), "pmean"),
        ((SHARES,), "combine_pvalues false_discovery_control"),
        ((V, 3), "moment"),
        ((V, 0.1), "ttest_1samp trim_mean"),
        ((0.5, ABOVE[:, 0]), "boxcox_llf"),
        ((0.5, V), "yeojohnson_llf"),
        ((V, SHARES[:2]), "quantile"),
    ],
    "special": [
        (
            (ABOVE / 4,),
            "logsumexp softmax log_softmax expit logit entr log_ndtr ndtr ndtri i0 i0e "
            "i1 i1e gammaln erf erfc digamma exp1 sinc",
        ),
        (
            (ABOVE / 4, ABOVE[::-1].copy()),
            "rel_entr xlogy gammainc gammaincc chdtr beta betaln poch stdtr",
        ),
        ((ABOVE, ABOVE, ABOVE / 4), "betainc"),
    ],
    "signal": [
        ((V,), "detrend medfilt wiener"),
        ((V, W), "convolve correlate"),
        ((TAPS, POLES, V), "lfilter filtfilt"),
        ((TAPS, POLES), "lfilter_zi"),
        ((V, 5, 2), "savgol_filter"),
        ((TAPS, V), "upfirdn"),
        ((TABLE, TABLE[:3, :3]), "convolve2d"),
        ((SHARES[:2], SHARES[:3], 1.0), "zpk2tf"),
    ],
    "cluster.vq": [((TABLE,), "whiten"), ((TABLE, TABLE[:3]), "vq kmeans")],
    "cluster.hierarchy": [((TABLE,), "linkage")],
    "spatial.distance": [((TABLE,), "pdist")],
    "integrate": [
        ((np.sin(LINE), LINE), "trapezoid cumulative_trapezoid"),
        ((np.sin(np.linspace(0, 1, 17)),), "romb"),
    ],
    "optimize": [((SHARES[:5],), "rosen rosen_der rosen_hess")],
    "fft": [((V,), "fftshift ifftshift dct dst idct idst dctn dstn idctn idstn")],
    "ndimage": [
        ((TABLE,), "sobel laplace prewitt center_of_mass sum mean variance"),
        (
            (TABLE, 3),
            "uniform_filter median_filter maximum_filter minimum_filter grey_dilation grey_erosion",
        ),
        ((TABLE, 1.0), "gaussian_filter shift"),
        ((TABLE, 2), "zoom"),
        ((TABLE, 30), "rotate"),
    ],
}


def cases():
    """name -> (function, arguments)"""
    found = {}
    for module, rows in GROUPS.items():
        home = importlib.import_module(f"scipy.{module}")
        for arguments, names in rows:
            for name in names.split():
                found[f"{module}.{name}"] = getattr(home, name), arguments
    from scipy import differentiate, integrate
    from scipy.cluster import hierarchy
    from scipy.optimize import elementwise
    from scipy.spatial.transform import Rotation

    tree = hierarchy.linkage(TABLE)
    for name in (
        "cophenet",
        "inconsistent",
        "maxdists",
        "leaves_list",
        "to_mlab_linkage",
        "cut_tree",
    ):
        found[f"cluster.hierarchy.{name}"] = getattr(hierarchy, name), (tree,)
    found["cluster.hierarchy.fcluster"] = hierarchy.fcluster, (tree, 1.0)
    zero, two = np.asarray([0.0]), np.asarray([2.0])
    found["integrate.cubature"] = (
        lambda a, b: integrate.cubature(lambda t: t[..., 0] ** 2, a, b).estimate,
        (zero, two),
    )
    found["integrate.tanhsinh"] = (
        lambda a, b: integrate.tanhsinh(lambda t: t**2, a, b).integral,
        (zero, two),
    )
    found["differentiate.derivative"] = (
        lambda x: differentiate.derivative(lambda t: t**3, x).df,
        (SHARES,),
    )
    found["differentiate.jacobian"] = (
        lambda x: differentiate.jacobian(lambda t: t**3, x).df,
        (SHARES[:3],),
    )
    found["optimize.elementwise.find_root"] = (
        lambda a, b: elementwise.find_root(lambda t: t**2 - 2, (a, b)).x,
        (zero, two),
    )
    quaternions = Rotation.random(3, rng=1).as_quat()
    for name in ("as_matrix", "as_rotvec", "as_mrp", "magnitude"):
        found[f"spatial.transform.Rotation.{name}"] = (
            lambda q, name=name: getattr(Rotation.from_quat(q), name)(),
            (quaternions,),
        )
    return found


def ours(value):
    """The argument as an array of mx.np."""
    import cynet as mx

    return mx.np.array(value, dtype=value.dtype) if isinstance(value, np.ndarray) else value


def values(result):
    """All numbers of a result, as NumPy arrays."""
    if hasattr(result, "asnumpy"):
        return [result.asnumpy()]
    if hasattr(result, "statistic"):
        result = (result.statistic, *([result.pvalue] if hasattr(result, "pvalue") else []))
    if isinstance(result, tuple | list):
        return [each for item in result for each in values(item)]
    return [np.asarray(result)]


def has_ours(result):
    """Whether a result is of mx.np, or has what is."""
    if hasattr(result, "statistic"):
        result = (result.statistic,)
    if isinstance(result, tuple | list):
        return any(map(has_ours, result))
    return hasattr(result, "__array_namespace__") and "array_api" in str(
        result.__array_namespace__()
    )


def tried(found, rtol):
    """name -> what was wrong, of functions whose results are not those of NumPy arrays."""
    failed = {}
    for name, (function, arguments) in found.items():
        expected = values(function(*arguments))
        try:
            result = function(*map(ours, arguments))
            got = values(result)
            # scores are Python's floats, whatever the arrays are
            assert type(result) is float or has_ours(result), f"{type(result)} is not of mx.np"
            assert len(got) == len(expected)
            for a, b in zip(got, expected):
                np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-7)
        except Exception as error:  # what others' code raises is of any class
            failed[name] = f"{type(error).__name__}: {error}"
    return failed


def main():
    warnings.simplefilter("ignore")
    found = cases()
    json.dump({"ran": sorted(found), "failed": tried(found, 1e-6)}, sys.stdout)


if __name__ == "__main__":
    main()
