"""scikit-learn with array API dispatch on arrays of mx.np: results are those of NumPy arrays.

Run as a module it prints what failed as JSON, and the names of all: scikit-learn asks SciPy for the
array API, which looks at SCIPY_ARRAY_API when it is imported.
"""

import json
import sys
import warnings

import numpy as np

from tests.numpy.scipy_cases import tried

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 5))
ABOVE = np.abs(X) + 0.1
BINARY = (X[:, 0] + 0.1 * X[:, 1] > 0).astype("int64")
THREE = RNG.integers(0, 3, 60)
REAL = X @ np.arange(5.0) + 0.1 * RNG.standard_normal(60)
GUESS = np.where(RNG.uniform(size=60) < 0.2, 1 - BINARY, BINARY)
NEAR = REAL + 0.3 * RNG.standard_normal(60)
SCORES = RNG.uniform(size=60)

METRICS = {
    "accuracy_score zero_one_loss balanced_accuracy_score f1_score precision_score recall_score "
    "jaccard_score hamming_loss confusion_matrix precision_recall_fscore_support "
    "multilabel_confusion_matrix cohen_kappa_score matthews_corrcoef": (BINARY, GUESS),
    "precision_recall_curve average_precision_score brier_score_loss log_loss": (BINARY, SCORES),
    "mean_squared_error mean_absolute_error r2_score max_error median_absolute_error "
    "explained_variance_score root_mean_squared_error mean_absolute_percentage_error "
    "d2_tweedie_score mean_tweedie_deviance mean_pinball_loss": (REAL, NEAR),
    "mean_squared_log_error root_mean_squared_log_error mean_gamma_deviance "
    "mean_poisson_deviance": (ABOVE[:, 0].copy(), ABOVE[:, 1].copy()),
}
PAIRS = (
    "euclidean_distances cosine_similarity cosine_distances linear_kernel polynomial_kernel "
    "rbf_kernel sigmoid_kernel laplacian_kernel manhattan_distances paired_cosine_distances "
    "paired_euclidean_distances additive_chi2_kernel chi2_kernel"
)


def _transformed(estimator):
    return lambda x: estimator.fit(x).transform(x)


def _predicted(estimator):
    return lambda x, y: estimator.fit(x, y).predict(x)


def _estimators():
    from sklearn import (
        decomposition,
        discriminant_analysis,
        linear_model,
        model_selection,
        naive_bayes,
        pipeline,
        preprocessing,
    )

    ridge = linear_model.Ridge(solver="svd")
    for name in (
        "StandardScaler",
        "MinMaxScaler",
        "MaxAbsScaler",
        "Normalizer",
        "Binarizer",
        "PolynomialFeatures",
    ):
        yield name, _transformed(getattr(preprocessing, name)()), (X,)
    for solver in ("full", "covariance_eigh"):
        yield f"PCA({solver})", _transformed(decomposition.PCA(2, svd_solver=solver)), (X,)
    yield "KernelCenterer", _transformed(preprocessing.KernelCenterer()), (X @ X.T,)
    yield "LabelEncoder", _transformed(preprocessing.LabelEncoder()), (THREE,)
    yield "LabelBinarizer", _transformed(preprocessing.LabelBinarizer()), (THREE,)
    for name in ("normalize", "minmax_scale", "maxabs_scale"):
        yield name, getattr(preprocessing, name), (X,)
    yield "Ridge", _predicted(ridge), (X, REAL)
    yield "RidgeCV", _predicted(linear_model.RidgeCV()), (X, REAL)
    yield "RidgeClassifier", _predicted(linear_model.RidgeClassifier(solver="svd")), (X, BINARY)
    yield "RidgeClassifierCV", _predicted(linear_model.RidgeClassifierCV()), (X, BINARY)
    analysis = discriminant_analysis.LinearDiscriminantAnalysis()
    yield "LinearDiscriminantAnalysis", _predicted(analysis), (X, THREE)
    yield "GaussianNB", _predicted(naive_bayes.GaussianNB()), (X, THREE)
    line = pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(2))
    yield "make_pipeline", _transformed(line), (X,)
    yield "train_test_split", lambda x: model_selection.train_test_split(x, random_state=0), (X,)
    yield (
        "cross_val_predict",
        lambda x, y: model_selection.cross_val_predict(ridge, x, y),
        (X, REAL),
    )
    search = model_selection.GridSearchCV(ridge, {"alpha": [0.1, 1.0]})
    yield "GridSearchCV", _predicted(search), (X, REAL)


def cases():
    """name -> (function, arguments)"""
    from sklearn import metrics

    found = {}
    for names, arguments in METRICS.items():
        for name in names.split():
            found[f"metrics.{name}"] = getattr(metrics, name), arguments
    for name in PAIRS.split():
        pair = ABOVE, ABOVE[::-1].copy()
        found[f"metrics.pairwise.{name}"] = getattr(metrics.pairwise, name), pair
    return found | {name: (function, arguments) for name, function, arguments in _estimators()}


def main():
    import sklearn

    warnings.simplefilter("ignore")
    with sklearn.config_context(array_api_dispatch=True):
        found = cases()
        json.dump({"ran": sorted(found), "failed": tried(found, 1e-5)}, sys.stdout)


if __name__ == "__main__":
    main()
