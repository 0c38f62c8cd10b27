"""The detector: a network, its heads, losses, detections."""

import cynet as mx

from . import tiny, vgg16_reduced
from .heads import feature_maps, multibox

VARIANCES = (0.1, 0.1, 0.2, 0.2)
_WIDE, _NARROW = (1, 2, 0.5, 3, 1.0 / 3), (1, 2, 0.5)
# Network -> its symbol, the side of its images, and of which maps what is predicted.
NETWORKS = {
    "vgg16_reduced": (
        vgg16_reduced.get_symbol,
        300,
        {
            "from_layers": ("relu4_3", "relu7", "", "", "", ""),
            "num_filters": (512, -1, 512, 256, 256, 256),
            "strides": (-1, -1, 2, 2, 1, 1),
            "pads": (-1, -1, 1, 1, 0, 0),
        },
        {
            "sizes": (
                (0.1, 0.141),
                (0.2, 0.272),
                (0.37, 0.447),
                (0.54, 0.619),
                (0.71, 0.79),
                (0.88, 0.961),
            ),
            "ratios": (_NARROW, _WIDE, _WIDE, _WIDE, _NARROW, _NARROW),
            "normalizations": (20, -1, -1, -1, -1, -1),
            "channels": (512,),
            "steps": [step / 300 for step in (8, 16, 32, 64, 100, 300)],
        },
    ),
    "tiny": (
        tiny.get_symbol,
        96,
        {
            "from_layers": ("relu3", "relu4", ""),
            "num_filters": (-1, -1, 128),
            "strides": (-1, -1, 2),
            "pads": (-1, -1, 1),
        },
        {
            "sizes": ((0.15, 0.22), (0.3, 0.4), (0.5, 0.65)),
            "ratios": (_NARROW, _NARROW, _NARROW),
            "normalizations": (-1, -1, -1),
            "channels": (),
            "steps": [],
        },
    ),
}


def _predictions(network, num_classes):
    body, _, maps, boxes = NETWORKS[network]
    return multibox(feature_maps(body(), **maps), num_classes, **boxes)


def _detections(scores, codes, anchors, nms_threshold, force_suppress, nms_topk):
    return mx.sym.contrib.MultiBoxDetection(
        scores,
        codes,
        anchors,
        nms_threshold=nms_threshold,
        force_suppress=force_suppress,
        variances=VARIANCES,
        nms_topk=nms_topk,
        name="detection",
    )


def get_symbol_train(
    network, num_classes, nms_threshold=0.5, force_suppress=False, nms_topk=400, mining_ratio=3
):
    """The detector with its losses.

    Parameters
    ----------
    network : str
        A key of `NETWORKS`.
    num_classes : int
        Without the background.
    nms_threshold, force_suppress, nms_topk
        Of the detections, for a metric.
    mining_ratio : float
        Negative anchors for each positive one.

    Returns
    -------
    Symbol
        Probabilities of the classes, loss of the boxes, the classes that anchors are to learn, and
        detections. Its variable ``label`` is that of ``ImageDetIter``.
    """
    label = mx.sym.var("label")
    codes, scores, anchors = _predictions(network, num_classes)
    targets = mx.sym.contrib.MultiBoxTarget(
        anchors,
        label,
        scores,
        overlap_threshold=0.5,
        ignore_label=-1,
        negative_mining_ratio=mining_ratio,
        minimum_negative_samples=0,
        negative_mining_thresh=0.5,
        variances=VARIANCES,
        name="multibox_target",
    )
    probability = mx.sym.SoftmaxOutput(
        scores,
        targets[2],
        ignore_label=-1,
        use_ignore=True,
        grad_scale=1.0,
        multi_output=True,
        normalization="valid",
        name="cls_prob",
    )
    distance = mx.sym.smooth_l1(targets[1] * (codes - targets[0]), scalar=1.0, name="loc_loss_")
    loss = mx.sym.MakeLoss(distance, grad_scale=1.0, normalization="valid", name="loc_loss")
    wanted = mx.sym.MakeLoss(targets[2], grad_scale=0, name="cls_label")
    found = _detections(probability, codes, anchors, nms_threshold, force_suppress, nms_topk)
    return mx.sym.Group(
        [probability, loss, wanted, mx.sym.MakeLoss(found, grad_scale=0, name="det_out")]
    )


def get_symbol(network, num_classes, nms_threshold=0.5, force_suppress=False, nms_topk=400):
    """The detector that only detects: rows (class, score, left, top, right, bottom) of each image,
    the class -1 where there is nothing."""
    codes, scores, anchors = _predictions(network, num_classes)
    probability = mx.sym.softmax(scores, axis=1, name="cls_prob")
    return _detections(probability, codes, anchors, nms_threshold, force_suppress, nms_topk)
