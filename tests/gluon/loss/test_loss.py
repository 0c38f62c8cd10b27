"""Losses: values of MXNet 1.9.1, gradients, weights, shapes; eager and hybridized."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import loss as losses

TWO = [[1, 2], [3, 4]]
ONES = [[1, 1], [1, 1]]
LOGITS = [[1, 2, 3], [1, 1, 1]]


@pytest.fixture(params=["eager", "hybrid"])
def run(request):
    def call(loss, *inputs):
        if request.param == "hybrid":
            loss.hybridize()
        return loss(*[None if each is None else nd.array(each) for each in inputs])

    return call


@pytest.mark.parametrize(
    "loss, inputs, wanted",
    [
        (lambda: losses.L2Loss(), (TWO, ONES), [0.25, 3.25]),
        (lambda: losses.L2Loss(weight=2), (TWO, ONES, [[1], [0]]), [0.5, 0]),
        (lambda: losses.L2Loss(), ([[1], [3]], [1, 1]), [0, 2]),
        (lambda: losses.L2Loss(batch_axis=1), (TWO, ONES), [1, 2.5]),
        (lambda: losses.L1Loss(), (TWO, ONES), [0.5, 2.5]),
        (lambda: losses.SoftmaxCELoss(), (LOGITS, [2, 0]), [0.4076038, 1.0986100]),
        (lambda: losses.SoftmaxCELoss(), (LOGITS, [[2], [0]]), [0.4076038, 1.0986100]),
        (lambda: losses.SoftmaxCELoss(), (LOGITS, [2, 0], [[0.5], [2]]), [0.2038019, 2.1972201]),
        (
            lambda: losses.SoftmaxCELoss(sparse_label=False),
            (LOGITS[:1], [[0, 0.5, 0.5]]),
            [0.9076039],
        ),
        (
            lambda: losses.SoftmaxCELoss(axis=1),
            (np.arange(12.0).reshape(2, 3, 2), [[0, 1], [2, 2]]),
            [3.1429315, 0.1429316],
        ),
        (
            lambda: losses.SoftmaxCELoss(),
            (np.zeros((2, 4, 5)), np.zeros((2, 4))),
            [1.6094407, 1.6094407],
        ),
        (
            lambda: losses.SigmoidBCELoss(),
            ([[0, 2], [-3, 4]], [[1, 0], [1, 1]]),
            [1.4100376, 1.5333686],
        ),
        (lambda: losses.SigmoidBCELoss(from_sigmoid=True), ([[0.5, 0.9]], [[1, 0]]), [1.4978660]),
        (lambda: losses.SigmoidBCELoss(from_sigmoid=True), ([[0.0, 1.0]], [[1, 0]]), [27.6310215]),
        (lambda: losses.SigmoidBCELoss(), ([[0, 2]], [[1, 0]], None, [[3, 1]]), [2.1031849]),
        (lambda: losses.KLDivLoss(), (np.log([[0.2, 0.8]]), [[0.5, 0.5]]), [0.2231435]),
        (lambda: losses.KLDivLoss(from_logits=False), ([[1, 2]], [[0.5, 0.5]]), [0.1201126]),
        (lambda: losses.HuberLoss(), ([[0, 3, -0.5]], [[0, 0, 0]]), [0.875]),
        (lambda: losses.HuberLoss(rho=2), ([[0, 3, -0.5]], [[0, 0, 0]]), [0.6875]),
        (lambda: losses.HingeLoss(), ([[0.5, -2]], [[1, 1]]), [1.75]),
        (lambda: losses.SquaredHingeLoss(), ([[0.5, -2]], [[1, 1]]), [4.625]),
        (lambda: losses.TripletLoss(), ([[1, 2]], [[1, 3]], [[2, 2]]), [1]),
        (lambda: losses.TripletLoss(margin=5), ([[1, 2]], [[1, 3]], [[2, 2]]), [5]),
        (
            lambda: losses.CosineEmbeddingLoss(),
            ([[1, 0], [1, 0]], [[1, 1], [1, 1]], [1, -1]),
            [[0.2928932], [0.7071068]],
        ),
        (lambda: losses.CosineEmbeddingLoss(margin=0.5), ([[1, 0]], [[1, 1]], [-1]), [[0.2071068]]),
        (lambda: losses.SDMLLoss(), ([[1, 0], [0, 1]], [[1, 0.1], [0, 1]]), [0.1142578, 0.0836994]),
        (lambda: losses.PoissonNLLLoss(), ([[1, 2]], [[1, 3]]), [1.5536690]),
        (lambda: losses.PoissonNLLLoss(from_logits=False), ([[1, 2]], [[1, 3]]), [0.4602792]),
        (
            lambda: losses.PoissonNLLLoss(from_logits=False, compute_full=True),
            ([[1, 2]], [[1, 3]]),
            [1.3423200],
        ),
    ],
)
def test_values(run, loss, inputs, wanted):
    out = run(loss(), *inputs)
    assert out.shape == np.shape(wanted)
    np.testing.assert_allclose(out.asnumpy(), wanted, rtol=2e-5, atol=1e-6)


def test_logistic_formats_agree(run, rng):
    pred, label = rng.normal(size=(2, 3)), rng.integers(0, 2, (2, 3))
    binary = run(losses.LogisticLoss(label_format="binary"), pred, label).asnumpy()
    signed = run(losses.LogisticLoss(), pred, 2 * label - 1).asnumpy()
    np.testing.assert_allclose(binary, signed, rtol=1e-5)
    wanted = np.log1p(np.exp(-pred * (2 * label - 1))).mean(axis=1)
    np.testing.assert_allclose(signed, wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="label_format is 'signed' or 'binary', got"):
        losses.LogisticLoss(label_format="x")


@pytest.mark.parametrize(
    "loss, inputs, wanted",
    [
        (lambda: losses.L2Loss(), (TWO, ONES), [[0, 0.5], [1, 1.5]]),
        (lambda: losses.SoftmaxCELoss(), (LOGITS[:1], [2]), [[0.0900308, 0.2447290, -0.3347576]]),
        (lambda: losses.HuberLoss(), ([[0, 3, -0.5]], [[0, 0, 0]]), [[0, 0.3333333, -0.1666667]]),
    ],
)
@pytest.mark.parametrize("hybrid", [False, True])
def test_gradients(loss, inputs, wanted, hybrid):
    loss = loss()
    if hybrid:
        loss.hybridize()
    pred, *others = [nd.array(each) for each in inputs]
    pred.attach_grad()
    with autograd.record():
        value = loss(pred, *others)
    value.backward()
    np.testing.assert_allclose(pred.grad.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_from_logits():
    pred = nd.log_softmax(nd.array(LOGITS[:1]))
    assert losses.SoftmaxCELoss(from_logits=True)(pred, nd.array([2])).asscalar() == pytest.approx(
        0.4076038, rel=1e-5
    )


def test_weights_that_do_not_fit_the_loss_are_refused():
    """MXNet broadcasts (2,) against (2, 1) to (2, 2): every sample gets the mean weight."""
    with pytest.raises(mx.MXNetError, match=r"give it the shape \(2, 1\)"):
        losses.SoftmaxCELoss()(nd.array(LOGITS), nd.array([2, 0]), nd.array([0.5, 2]))


def test_with_and_without_a_weight_hybridized():
    """MXNet refuses the second call."""
    loss = losses.L2Loss()
    loss.hybridize()
    pred, label = nd.array(TWO), nd.array(ONES)
    assert loss(pred, label, nd.array([[1], [0]])).asnumpy().tolist() == [0.25, 0]
    assert loss(pred, label).asnumpy().tolist() == [0.25, 3.25]


def test_symbols():
    loss = losses.L2Loss(prefix="l_")
    out = loss(mx.sym.var("y"), mx.sym.var("d"))
    assert sorted(out.list_arguments()) == ["d", "y"]
    assert out.list_outputs() == ["l_mean0_output"]


def test_half():
    loss = losses.L2Loss()
    out = loss(nd.array(TWO, dtype="float16"), nd.array(ONES, dtype="float16"))
    assert out.dtype == np.float16 and out.asnumpy().tolist() == [0.25, 3.25]


CTC_LABELS = np.array([[1, 0, -1, -1], [2, 1, 1, -1]], np.float32)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize(
    "layouts, lengths",
    [
        (("NTC", "NT"), (None, None)),
        (("TNC", "NT"), (None, None)),
        (("NTC", "TN"), (None, None)),
        (("TNC", "TN"), (None, None)),
        (("NTC", "NT"), ((20, 20), None)),
        (("NTC", "NT"), (None, (2, 3))),
        (("TNC", "TN"), ((20, 20), (2, 3))),
    ],
)
def test_ctc(layouts, lengths, hybridize):
    """Values of MXNet 1.9.1."""
    loss = losses.CTCLoss(*layouts)
    if hybridize:
        loss.hybridize()
    pred = nd.ones((2, 20 if lengths[0] is None else 25, 4))
    pred = pred if layouts[0] == "NTC" else nd.swapaxes(pred, 0, 1)
    label = nd.array(CTC_LABELS if layouts[1] == "NT" else CTC_LABELS.T)
    out = loss(pred, label, *(None if each is None else nd.array(each) for each in lengths))
    np.testing.assert_allclose(out.asnumpy(), [18.8282070, 16.5058174], 1e-5)


def test_ctc_gradient_and_weights():
    pred = nd.ones((1, 3, 3))
    pred.attach_grad()
    with mx.autograd.record():
        loss = losses.CTCLoss()(pred, nd.array([[0]]))
    loss.backward()
    wanted = [[-1 / 6, 1 / 3, -1 / 6], [-1 / 3, 1 / 3, 0], [-1 / 6, 1 / 3, -1 / 6]]
    np.testing.assert_allclose(pred.grad.asnumpy()[0], wanted, 1e-5, 1e-6)
    pred, label = nd.ones((2, 20, 4)), nd.array(CTC_LABELS)
    out = losses.CTCLoss(weight=2.0)(pred, label, None, None, nd.array([1, 0.5]))
    np.testing.assert_allclose(out.asnumpy(), [2 * 18.8282070, 16.5058174], 1e-5)


def test_ctc_refusals():
    with pytest.raises(AssertionError, match="CTCLoss: layout is 'NTC' or 'TNC', got 'NCT'"):
        losses.CTCLoss(layout="NCT")
    loss = losses.CTCLoss()
    with pytest.raises(mx.MXNetError, match="more labels than data of shape"):
        loss(nd.ones((2, 3, 4)), nd.ones((2, 5)))
    with pytest.raises(
        mx.MXNetError, match=r"label\[0, 1\] is 3, expected 0 to 2 \(class 3 is the"
    ):
        loss(nd.ones((1, 6, 4)), nd.array([[1, 3, -1]])).asnumpy()
    with pytest.raises(mx.MXNetError, match=r"data_lengths\[1\] is 7, outside of 0 to 6"):
        loss(nd.ones((2, 6, 4)), nd.ones((2, 2)), nd.array([6, 7])).asnumpy()
    with pytest.raises(mx.MXNetError, match=r"label_lengths\[0\] is 3, outside of 0 to 2"):
        loss(nd.ones((2, 6, 4)), nd.ones((2, 2)), None, nd.array([3, 1])).asnumpy()


def test_a_loss_of_ones_own():
    class Mean(gluon.loss.Loss):
        def __init__(self, weight=None, batch_axis=0, **kwargs):
            super().__init__(weight, batch_axis, **kwargs)

        def hybrid_forward(self, F, pred, label, sample_weight=None):
            loss = losses._apply_weighting(F, F.abs(pred - label), self._weight, sample_weight)
            return F.mean(loss, axis=self._batch_axis, exclude=True)

    assert Mean()(nd.array(TWO), nd.array(ONES)).asnumpy().tolist() == [0.5, 2.5]


@pytest.mark.parametrize(
    "kind, settings, weights, wanted",
    [
        (losses.L1Loss, {}, None, 6),
        (losses.L1Loss, {"weight": 0.5}, None, 3),
        (losses.L1Loss, {"weight": 0.5}, [0.5, 1, 0.5, 1], 2.5),
        (losses.L2Loss, {}, None, 7),
        (losses.L2Loss, {"weight": 0.25}, None, 1.75),
        (losses.L2Loss, {"weight": 2}, [0.5, 1, 0.5, 1], 12),
    ],
)
def test_sums(kind, settings, weights, wanted):
    """As MXNet's own tests of the losses have them."""
    pred, label = nd.array([1, 2, 3, 4]), nd.array([1, 3, 5, 7])
    weight = None if weights is None else nd.array(weights)
    assert kind(**settings)(pred, label, weight).sum().asscalar() == pytest.approx(wanted)


def test_a_label_of_another_type_is_refused():
    with pytest.raises(mx.MXNetError, match="operator elemwise_sub on"):
        losses.L2Loss()(nd.array(TWO), nd.array(ONES, dtype="int32")).wait_to_read()


def test_a_loss_of_gluon_under_a_module():
    out = gluon.nn.Dense(1, prefix="d_")(mx.sym.var("data"))
    loss = mx.sym.make_loss(losses.L2Loss()(out, mx.sym.var("label")))
    module = mx.mod.Module(loss, ["data"], ["label"])
    x, y = np.array([[1.0], [2], [3]], "float32"), np.array([[2.0], [4], [6]], "float32")
    batches = mx.io.NDArrayIter(x, y, 3, label_name="label")
    module.fit(
        batches,
        num_epoch=100,
        eval_metric="loss",
        initializer=mx.init.Zero(),
        optimizer_params={"learning_rate": 0.3},
    )
    weight = bias = 0.0
    for _ in range(100):
        error = weight * x + bias - y
        weight, bias = weight - 0.3 * (error * x).mean(), bias - 0.3 * error.mean()
    found = {name: array.asscalar() for name, array in module.get_params()[0].items()}
    assert found == pytest.approx({"d_weight": weight, "d_bias": bias}, rel=1e-4)


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("sparse", [True, False])
def test_label_smoothing(smoothing, sparse, hybridize, rng):
    """The cross-entropy with the smoothed distribution, by NumPy."""
    pred, label = rng.standard_normal((5, 4, 3)), rng.integers(0, 4, (5, 3))
    whole = np.eye(4)[label].transpose(0, 2, 1)
    log = pred - np.log(np.exp(pred).sum(1, keepdims=True))
    smoothed = whole * (1 - smoothing) + smoothing / 4
    wanted = -(smoothed * log).sum(1).mean(1)
    loss = losses.SoftmaxCELoss(axis=1, sparse_label=sparse, label_smoothing=smoothing)
    if hybridize:
        loss.hybridize()
    found = loss(nd.array(pred), nd.array(label if sparse else whole))
    np.testing.assert_allclose(found.asnumpy(), wanted, 1e-5, 1e-6)


@pytest.mark.parametrize(
    "smoothing, says", [(-0.1, "from 0 to 1, got -0.1"), (1.1, "got 1.1"), ("x", "label_smoothing")]
)
def test_label_smoothing_is_a_share(smoothing, says):
    with pytest.raises(mx.MXNetError, match=says):
        losses.SoftmaxCELoss(label_smoothing=smoothing)
