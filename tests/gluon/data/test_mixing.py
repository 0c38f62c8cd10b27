"""MixUp and CutMix: the formulas of the papers, sample by sample; loaders, fit and losses."""

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.data import ArrayDataset, CutMix, DataLoader, MixUp

N, CLASSES = 8, 3


@pytest.fixture
def batch(rng):
    images = rng.normal(size=(N, 2, 6, 5)).astype("float32")
    return images, rng.integers(0, CLASSES, N)


def both_kinds(mixing, images, labels):
    """The mixture of NumPy arrays and of NDArrays, which draw the same."""
    found = []
    for wrap in (lambda x: x, mx.nd.array):
        mx.random.seed(5)
        found.append(mixing.mix(wrap(images), wrap(labels)))
    for plain, ours in zip(*found):
        np.testing.assert_allclose(ours.asnumpy(), plain, rtol=1e-6)
        assert ours.dtype == plain.dtype == np.float32
    return found[0]


def test_mixup_is_one_share_of_each_and_the_rest_of_another(batch):
    images, labels = batch
    mixed, soft = both_kinds(MixUp(CLASSES, alpha=1.0), images, labels)
    onehot = np.eye(CLASSES)[labels]
    shares = set()
    for i in range(N):
        found = []
        for j in range(N):  # least squares for mixed = share * own + (1 - share) * other
            way = (images[i] - images[j]).ravel()
            share = 1.0 if i == j else float((mixed[i] - images[j]).ravel() @ way / (way @ way))
            wanted = share * images[i] + (1 - share) * images[j]
            if np.abs(mixed[i] - wanted).max() < 1e-5:
                np.testing.assert_allclose(
                    soft[i], share * onehot[i] + (1 - share) * onehot[j], atol=1e-5
                )
                found.append(share)
        assert len(found) == 1
        shares.update(round(share, 4) for share in found if share != 1.0)
    assert len(shares) == 1 and 0 < shares.pop() < 1


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_cutmix_is_one_rectangle_of_another_and_its_area_of_the_label(batch, layout):
    images, labels = batch
    given = images if layout == "NCHW" else images.transpose(0, 2, 3, 1)
    mixing, sizes = CutMix(CLASSES, layout=layout), set()
    for seed in range(12):
        mx.random.seed(seed)
        mixed, soft = mixing.mix(given, labels)
        mixed = mixed if layout == "NCHW" else mixed.transpose(0, 3, 1, 2)
        onehot = np.eye(CLASSES)[labels]
        moved = (mixed != images).any(axis=(0, 1))
        rows, columns = np.flatnonzero(moved.any(1)), np.flatnonzero(moved.any(0))
        assert moved.sum() == len(rows) * len(columns)  # it is a rectangle without holes
        assert len(rows) == 0 or np.ptp(rows) + 1 == len(rows)
        share = 1 - moved.sum() / moved.size
        sizes.add(float(share))
        for i in range(N):
            others = [j for j in range(N) if (mixed[i] == images[j])[:, moved].all()]
            wanted = [share * onehot[i] + (1 - share) * onehot[j] for j in others]
            assert any(np.allclose(soft[i], each, atol=1e-6) for each in wanted)
            assert (mixed[i] == images[i])[:, ~moved].all()
    assert len(sizes) > 3


def test_shares_follow_the_beta_distribution():
    mixing, pair = MixUp(2, alpha=0.5), (np.zeros((64, 1), "float32"), np.arange(64) % 2)
    mx.random.seed(3)
    shares = []
    for _ in range(600):
        _, soft = mixing.mix(*pair)
        shares.append(soft.max(axis=1).min())  # that of a row mixed with the other class
    shares = np.array(shares)
    # of Beta(0.5, 0.5) the larger of the two parts has the mean 0.5 + 1 / pi
    assert abs(shares.mean() - (0.5 + 1 / np.pi)) < 0.02


def test_prob_and_distributions_and_integers(batch):
    images, labels = batch
    same, soft = MixUp(CLASSES, prob=0.0).mix(images, labels)
    assert (same == images).all() and (soft == np.eye(CLASSES)[labels]).all()
    mx.random.seed(1)
    wanted = CutMix(CLASSES).mix(images, labels)
    mx.random.seed(1)
    found = CutMix(CLASSES).mix(images, np.eye(CLASSES)[labels])
    assert all((a == b).all() for a, b in zip(wanted, found))
    pixels = np.full((N, 2, 6, 5), 200, "uint8")
    mixed, _ = MixUp(CLASSES).mix(pixels, labels)
    assert mixed.dtype == np.float32
    np.testing.assert_allclose(mixed, 200, rtol=1e-6)


@pytest.mark.parametrize("workers", [0, 2])
def test_loader(batch, workers):
    images, labels = batch
    data = ArrayDataset(images, labels.astype("float32"))
    epochs = []
    for _ in range(2):
        mx.random.seed(7)
        loader = DataLoader(data, 3, num_workers=workers, batchify_fn=CutMix(CLASSES))
        epochs.append([[each.asnumpy() for each in pair] for pair in loader])
    assert [[each.shape for each in pair] for pair in epochs[0]] == [
        [(3, 2, 6, 5), (3, CLASSES)],
        [(3, 2, 6, 5), (3, CLASSES)],
        [(2, 2, 6, 5), (2, CLASSES)],
    ]
    for one, two in zip(*epochs):
        assert all((a == b).all() for a, b in zip(one, two))
        np.testing.assert_allclose(one[1].sum(axis=1), 1, rtol=1e-6)


def test_fit_learns_from_mixed_batches_and_resumes(tmp_path, rng):
    x = rng.normal(size=(90, 4)).astype("float32")
    y = (x[:, 0] > 0).astype("float32")
    x[:, 0] += y - 0.5  # room between the classes
    symbol = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
    symbol = mx.sym.SoftmaxOutput(symbol, name="softmax")

    def train(epochs, **more):
        mx.random.seed(2)
        np.random.seed(2)
        module = mx.mod.Module(symbol)
        mixed = mx.io.MixIter(mx.io.NDArrayIter(x, y, 30, shuffle=True), MixUp(2, alpha=0.4))
        history = module.fit(
            mixed,
            mx.io.NDArrayIter(x, y, 30),
            eval_metric="ce",
            validation_metric="acc",
            num_epoch=epochs,
            optimizer_params={"learning_rate": 0.05},
            verbose=False,
            **more,
        )
        return history, module.get_params()[0]

    history, whole = train(6)
    assert history.metrics["Validation-accuracy"][-1] > 0.9
    train(3, resume=tmp_path / "run")
    _, resumed = train(6, resume=tmp_path / "run")
    for name, value in whole.items():
        assert (value.asnumpy() == resumed[name].asnumpy()).all()


def test_the_losses_and_the_metric_take_what_it_makes(batch):
    images, labels = batch
    _, soft = MixUp(CLASSES).mix(mx.nd.array(images), mx.nd.array(labels))
    scores = mx.nd.random.normal(shape=(N, CLASSES))
    logs = scores.asnumpy() - np.log(np.exp(scores.asnumpy()).sum(1, keepdims=True))
    wanted = -(soft.asnumpy() * logs).sum(1)
    loss = mx.gluon.loss.SoftmaxCELoss(sparse_label=False)
    np.testing.assert_allclose(loss(scores, soft).asnumpy(), wanted, rtol=1e-5)
    metric = mx.metric.CrossEntropy()
    metric.update([soft], [mx.nd.softmax(scores)])
    assert metric.get()[1] == pytest.approx(wanted.mean(), rel=1e-5)
    scores.attach_grad()
    with mx.autograd.record():
        out = mx.nd.SoftmaxOutput(scores, soft)
    out.backward()
    np.testing.assert_allclose(
        scores.grad.asnumpy(), np.exp(logs) - soft.asnumpy(), rtol=1e-4, atol=1e-6
    )
    with pytest.raises(mx.errors.ArgumentError, match="accuracy: expected classes .*MixUp"):
        mx.metric.Accuracy().update([soft], [scores])


def test_refusals(batch):
    images, labels = batch
    for kind, args, told in (
        (MixUp, {"classes": 0}, "classes"),
        (MixUp, {"classes": 2, "alpha": 0}, "alpha"),
        (CutMix, {"classes": 2, "prob": 1.5}, "prob"),
        (CutMix, {"classes": 2, "layout": "HW"}, "layout"),
    ):
        with pytest.raises(mx.errors.ArgumentError, match=f"{kind.__name__}: {told}"):
            kind(**args)
    with pytest.raises(TypeError, match="MixUp: batchify_fn"):
        MixUp(2, batchify_fn=3)
    with pytest.raises(mx.errors.ArgumentError, match="MixUp: alpha"):
        MixUp(2, alpha=float("inf"))
    with pytest.raises(mx.errors.ArgumentError, match="MixUp: expected labels from 0 to 2, got 3"):
        MixUp(CLASSES).mix(images, np.arange(N))
    with pytest.raises(mx.errors.ShapeError, match="MixUp: 3 labels for 8 rows"):
        MixUp(CLASSES).mix(images, labels[:3])
    with pytest.raises(mx.errors.ShapeError, match="4 axes"):
        CutMix(CLASSES).mix(images[:, 0], labels)
    with pytest.raises(mx.errors.ArgumentError, match="pairs"):
        MixUp(CLASSES)([np.ones(3)])
    inner = mx.io.NDArrayIter({"a": images, "b": images}, labels, 4)
    with pytest.raises(mx.errors.ArgumentError, match="MixIter: .* one data array"):
        mx.io.MixIter(inner, MixUp(CLASSES))
    with pytest.raises(TypeError, match="MixIter: mixing"):
        mx.io.MixIter(mx.io.NDArrayIter(images, labels, 4), 0.2)
