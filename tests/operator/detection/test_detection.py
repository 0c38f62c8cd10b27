"""Detection at its edges: NaN, ties, threads, kinds, empty images; and what is refused."""

import numpy as np
import pytest

import cynet as mx
from tests.operator.cases.detection import box_nms, boxes, labels, multibox_target

CONTRIB = mx.nd.contrib


def rows(rng, shape, classes=4):
    kinds, scores = rng.integers(0, classes, (*shape, 1)), rng.integers(1, 20, (*shape, 1)) / 20
    return np.concatenate([kinds, scores, boxes(rng, (*shape, 4))], -1).astype("float32")


@pytest.mark.parametrize("force", [False, True])
def test_many_rows_with_ties(force, seed):
    """Of equal scores the first row comes first, whatever the kinds."""
    data = rows(np.random.default_rng(seed), (3, 400))
    params = {"overlap_thresh": 0.3, "id_index": 0, "force_suppress": force}
    found = CONTRIB.box_nms(mx.nd.array(data), **params).asnumpy()
    np.testing.assert_array_equal(found, box_nms(data, **params))


def test_numbers_of_threads_change_nothing(seed):
    """An image alone, and among many that threads share."""
    data = rows(np.random.default_rng(seed), (16, 300))
    whole = CONTRIB.box_nms(mx.nd.array(data), overlap_thresh=0.2, id_index=0).asnumpy()
    for image, wanted in zip(data, whole):
        alone = CONTRIB.box_nms(mx.nd.array(image), overlap_thresh=0.2, id_index=0)
        np.testing.assert_array_equal(alone.asnumpy(), wanted)


def test_scores_that_are_none(seed):
    """NaN is no score: such rows are left out, and disturb no order."""
    rng = np.random.default_rng(seed)
    data = rows(rng, (60,))
    data[::7, 1] = np.nan
    found = CONTRIB.box_nms(mx.nd.array(data), overlap_thresh=1).asnumpy()
    rest = data[~np.isnan(data[:, 1])]
    np.testing.assert_array_equal(found[: len(rest)], rest[np.argsort(-rest[:, 1], kind="stable")])
    assert (found[len(rest) :] == -1).all()
    scores = rng.permutation(20).reshape(4, 5).astype("float32")
    scores[1, 2] = np.nan
    row, column = (
        x.asnumpy() for x in CONTRIB.bipartite_matching(mx.nd.array(scores), threshold=-1)
    )
    assert (row >= 0).sum() == (column >= 0).sum() >= 3
    assert row[1] != 2


def test_classes_that_are_none_suppress_nothing():
    data = np.array([[np.nan, 0.9, 0, 0, 1, 1], [np.nan, 0.8, 0, 0, 1, 1]], "float32")
    found = CONTRIB.box_nms(mx.nd.array(data), id_index=0).asnumpy()
    np.testing.assert_array_equal(found, data)


def test_many_anchors_and_labels(seed):
    """A set of the size of an SSD's, against loops in NumPy."""
    rng = np.random.default_rng(seed)
    anchor = boxes(rng, (1, 300, 4)).astype("float32")
    label, scores = labels(rng, (6, 9, 5)), rng.standard_normal((6, 4, 300)).astype("float32")
    for params in ({"overlap_threshold": 0.4}, {"negative_mining_ratio": 3.0}):
        wanted = multibox_target(anchor, label, scores, **params)
        found = CONTRIB.MultiBoxTarget(*map(mx.nd.array, (anchor, label, scores)), **params)
        for a, b in zip(found, wanted):
            np.testing.assert_allclose(a.asnumpy(), b, 1e-3, 1e-3, err_msg=str(seed))


def test_fewer_negatives_than_asked_for():
    """All that are hard enough; MXNet fails here."""
    anchor = mx.nd.array([[[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.45], [0.6, 0.6, 1, 1]]])
    label = mx.nd.array([[[0, 0, 0, 0.5, 0.5]]])
    kinds = CONTRIB.MultiBoxTarget(
        anchor, label, mx.nd.zeros((1, 2, 3)), overlap_threshold=0.95, negative_mining_ratio=2
    )[2]
    assert kinds.asnumpy().tolist() == [[1, -1, 0]]


def test_lengths_of_zero():
    """No boxes give no boxes."""
    none = mx.nd.zeros((0, 4))
    assert CONTRIB.box_iou(none, mx.nd.zeros((3, 4))).shape == (0, 3)
    assert CONTRIB.box_nms(mx.nd.zeros((2, 0, 6))).shape == (2, 0, 6)
    assert CONTRIB.box_decode(mx.nd.zeros((0, 3, 4)), mx.nd.zeros((1, 3, 4))).shape == (0, 3, 4)


def test_inference_from_what_is_known():
    sym = mx.sym.contrib
    target = sym.MultiBoxTarget(name="t")
    shapes, outs, _ = target.infer_shape(
        t_anchor=(1, 8, 4), t_label=(2, 3, 5), t_cls_pred=(0, 4, 0)
    )
    assert shapes[2] == (2, 4, 8)
    assert outs == [(2, 32), (2, 32), (2, 8)]
    proposal = sym.Proposal(name="p", rpn_post_nms_top_n=7, output_score=True)
    assert proposal.list_outputs() == ["p_output", "p_score"]
    shapes, outs, _ = proposal.infer_shape(p_cls_prob=(1, 24, 5, 6))
    assert shapes == [(1, 24, 5, 6), (1, 48, 5, 6), (1, 3)]
    assert outs == [(7, 5), (7, 1)]
    detection = sym.MultiBoxDetection(name="d")
    shapes, outs, _ = detection.infer_shape(d_cls_prob=(2, 3, 8))
    assert shapes == [(2, 3, 8), (2, 32), (1, 8, 4)]
    assert outs == [(2, 8, 6)]


SCORES = mx.nd.zeros((1, 6, 2, 2))
REGION = (SCORES, mx.nd.zeros((1, 12, 2, 2)), mx.nd.array([[32, 32, 1]]))
THREE = {"scales": (1, 2, 3), "ratios": (1,)}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: CONTRIB.MultiBoxPrior(SCORES, ratios=(0,)), "'ratios' takes 1 to 4096 ratios"),
        (lambda: CONTRIB.MultiBoxPrior(SCORES, steps=(1, -1)), "'steps' takes two numbers"),
        (lambda: CONTRIB.MultiBoxPrior(SCORES.astype("float64")), "computes in float32"),
        (
            lambda: CONTRIB.MultiBoxTarget(
                mx.nd.zeros((1, 2, 4)),
                mx.nd.array([[[1, 0, 0, 1, 1], [-1, 0, 0, 1, 1]]]),
                mx.nd.zeros((1, 2, 2)),
            ),
            "row 1 of image 0 in label",
        ),
        (lambda: CONTRIB.Proposal(*REGION[:2], mx.nd.array([[64, 32, 1]]), **THREE), "64 x 32"),
        (lambda: CONTRIB.Proposal(*REGION), "cls_prob has shape"),
        (lambda: CONTRIB.Proposal(*REGION, scales=(), ratios=(1,)), "'scales' takes numbers"),
        (lambda: CONTRIB.Proposal(*REGION, **THREE, rpn_post_nms_top_n=1 << 60), "more than any"),
        (
            lambda: CONTRIB.box_encode(
                mx.nd.ones((1, 2)),
                mx.nd.array([[0, 3]]),
                *[mx.nd.ones((1, 2, 4))] * 2,
                mx.nd.zeros(4),
                mx.nd.ones(4),
            ),
            "sample 1 of image 0 is matched with none of the 2 boxes",
        ),
        (lambda: CONTRIB.box_nms(mx.nd.zeros((3, 6)), coord_start=3), "'coord_start' is 3"),
        (lambda: CONTRIB.box_nms(mx.nd.zeros((3, 6), dtype="int32")), "computes in float32"),
        (lambda: CONTRIB.box_decode(mx.nd.zeros((2, 3, 4)), mx.nd.zeros((2, 3, 4))), "anchors has"),
        (lambda: CONTRIB.bipartite_matching(mx.nd.zeros((2, 3))), "'threshold'"),
    ],
)
def test_refused(call, words):
    with pytest.raises(mx.MXNetError, match=words):
        made = call()
        for each in made if isinstance(made, list) else [made]:
            each.asnumpy()


@pytest.mark.parametrize(
    "params, wanted",
    [
        (
            {"overlap_threshold": 0.6, "negative_mining_ratio": 3, "negative_mining_thresh": 0.5},
            [1, -1, 0, 0, 0, -1],
        ),
        (
            {"overlap_threshold": 0.6, "negative_mining_ratio": 1, "negative_mining_thresh": 0.5},
            [1, -1, 0, -1, -1, -1],
        ),
        (
            {
                "overlap_threshold": 0.6,
                "negative_mining_ratio": 3,
                "negative_mining_thresh": 0.4375,
            },
            [1, -1, 0, 0, -1, 0],
        ),
        ({"overlap_threshold": 0.5}, [1, 0, 0, 0, 0, 0]),
        ({"overlap_threshold": 0.4375}, [1, 1, 0, 0, 0, 0]),
    ],
)
def test_targets_of_anchors_exactly_at_a_threshold(params, wanted):
    """Overlaps of 1, 1/2, 1/4, 1/4, 7/16, 0; the classes are those of MXNet 1.9.1."""
    boxes = [[0, 0, 1, 1], [0, 0, 0.5, 1], [0, 0, 0.25, 1], [0.5, 0.5, 1, 1], [0, 0, 0.4375, 1]]
    anchors = mx.nd.array([[*boxes, [2, 2, 3, 3]]])
    scores = mx.nd.array([[[1, 2, 3, 4, 5, 6], [3, 9, 2, 0, 4, 2]]])
    label = mx.nd.array([[[0, 0, 0, 1, 1]]])
    found = mx.nd.contrib.MultiBoxTarget(anchors, label, scores, **params)[2]
    assert found.asnumpy().tolist() == [wanted]
