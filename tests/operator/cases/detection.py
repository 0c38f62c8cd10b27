"""Cases of the operators of object detection; the references are loops in NumPy."""

import numpy as np

from .case import Case, Input, ints

SINGLE = ("float32",)


def boxes(rng, shape):
    low = rng.uniform(0, 0.7, (*shape[:-1], 2))
    return np.concatenate([low, low + rng.uniform(0.1, 0.4, low.shape)], -1)


def corners(box, center):
    if not center:
        return box
    return np.concatenate([box[..., :2] - box[..., 2:] / 2, box[..., :2] + box[..., 2:] / 2], -1)


def overlap(a, b, more=0):
    size = np.clip(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]) + more, 0, None)
    both = size.prod()
    areas = [np.clip(x[2:] - x[:2] + more, 0, None).prod() for x in (a, b)]
    whole = sum(areas) - both
    return both / whole if whole > 0 else 0.0


def box_iou(lhs, rhs, format="corner"):
    a, b = (corners(x.reshape(-1, 4), format == "center") for x in (lhs, rhs))
    out = np.array([[overlap(x, y) for y in b] for x in a])
    return out.reshape(*lhs.shape[:-1], *rhs.shape[:-1])


def suppressed(found, kinds, threshold, reached=False, more=0):
    """Places that stay, in order."""
    kept = []
    for i, box in enumerate(found):
        shares = [
            overlap(found[k], box, more) for k in kept if kinds is None or kinds[k] == kinds[i]
        ]
        if not any(s >= threshold if reached else s > threshold for s in shares):
            kept.append(i)
    return kept


def rows(rng, shape):
    kinds = rng.integers(-1, 3, (*shape[:-1], 1))
    scores = rng.permutation(int(np.prod(shape[:-1]))).reshape(*shape[:-1], 1) / 10 - 0.35
    return np.concatenate([kinds, scores, boxes(rng, (*shape[:-1], 4))], -1)


def box_nms(
    data,
    overlap_thresh=0.5,
    valid_thresh=0,
    topk=-1,
    coord_start=2,
    score_index=1,
    id_index=-1,
    background_id=-1,
    force_suppress=False,
    in_format="corner",
    out_format="corner",
):
    if topk == 0:
        return data
    out = np.full_like(data, -1).reshape(-1, *data.shape[-2:])
    for image, made in zip(data.reshape(out.shape), out):
        order = np.argsort(-image[:, score_index], kind="stable")
        order = [i for i in order if image[i, score_index] > valid_thresh]
        if id_index >= 0:
            order = [i for i in order if image[i, id_index] != background_id]
        best = image[order[:topk] if topk > 0 else order]
        place = slice(coord_start, coord_start + 4)
        kinds = None if force_suppress or id_index < 0 else best[:, id_index]
        found = corners(best[:, place], in_format == "center")
        best = best[suppressed(found, kinds, overlap_thresh)]
        if in_format != out_format:
            best[:, place] = corners(best[:, place], in_format == "center")
            if out_format == "center":
                low, high = best[:, place][:, :2], best[:, place][:, 2:]
                best[:, place] = np.concatenate([(low + high) / 2, high - low], -1)
        made[: len(best)] = best
    return out.reshape(data.shape)


def box_nms_grad(heads, data, **params):
    """A class is no number to be moved: each row's gradient goes to the row that it was."""
    number = np.broadcast_to(np.arange(data.shape[1]), data.shape[:2])[..., None]
    kept = box_nms(np.concatenate([data, number], -1), **params)[..., -1].astype(int)
    grad = np.zeros_like(data)
    for image, row in zip(*np.nonzero(kept >= 0)):
        grad[image, kept[image, row]] += heads[0][image, row]
    return [grad]


def bipartite_matching(data, threshold, is_ascend=False, topk=-1):
    n, m = data.shape[-2:]
    tables = data.reshape(-1, n, m)
    of_rows, of_columns = np.full((len(tables), n), -1.0), np.full((len(tables), m), -1.0)
    for table, of_row, of_column in zip(tables, of_rows, of_columns):
        sign = 1 if is_ascend else -1
        pairs = 0
        for place in np.argsort(sign * table.ravel(), kind="stable"):
            r, c = divmod(int(place), m)
            if of_row[r] >= 0 or of_column[c] >= 0:
                continue
            if not sign * table[r, c] < sign * threshold or pairs > topk > 0:
                break
            of_row[r], of_column[c], pairs = c, r, pairs + 1
    lead = data.shape[:-2]
    return of_rows.reshape(*lead, n), of_columns.reshape(*lead, m)


def code(anchor, box):
    size, own = anchor[2:] - anchor[:2], box[2:] - box[:2]
    middle, mine = (anchor[2:] + anchor[:2]) / 2, (box[2:] + box[:2]) / 2
    return np.concatenate([(mine - middle) / size, np.log(own / size)])


def box_encode(samples, matches, anchors, refs, means, stds):
    out, mask = np.zeros(anchors.shape), np.zeros(anchors.shape)
    for place in zip(*np.nonzero(samples > 0.5)):
        box = refs[place[0], int(matches[place])]
        out[place], mask[place] = (code(anchors[place], box) - means) / stds, 1
    return out, mask


def box_decode(data, anchors, std0=1, std1=1, std2=1, std3=1, clip=-1, format="center"):
    if format == "corner":
        anchors = np.concatenate(
            [(anchors[..., :2] + anchors[..., 2:]) / 2, anchors[..., 2:] - anchors[..., :2]], -1
        )
    scaled = data * np.array([std0, std1, std2, std3])
    logs = np.minimum(scaled[..., 2:], clip) if clip > 0 else scaled[..., 2:]
    middle, half = scaled[..., :2] * anchors[..., 2:] + anchors[..., :2], np.exp(logs) / 2
    half = half * anchors[..., 2:]
    return np.concatenate([middle - half, middle + half], -1)


def multibox_prior(data, sizes=(1,), ratios=(1,), clip=False, steps=(-1, -1), offsets=(0.5, 0.5)):
    height, width = data.shape[2:]
    steps = [1 / n if s <= 0 else s for s, n in zip(steps, (height, width))]
    kinds = [(s, ratios[0]) for s in sizes] + [(sizes[0], r) for r in ratios[1:]]
    out = [
        [x - w, y - h, x + w, y + h]
        for y in (np.arange(height) + offsets[0]) * steps[0]
        for x in (np.arange(width) + offsets[1]) * steps[1]
        for size, ratio in kinds
        for w, h in [(size * height / width * np.sqrt(ratio) / 2, size / np.sqrt(ratio) / 2)]
    ]
    out = np.reshape(out, (1, -1, 4))
    return np.clip(out, 0, 1) if clip else out


def labels(rng, shape):
    out = np.full(shape, -1.0)
    for image, count in zip(out, rng.integers(1, shape[1] + 1, shape[0])):
        image[:count, 0] = rng.integers(0, 3, count)
        image[:count, 1:5] = boxes(rng, (count, 4))
    return out


def multibox_target(
    anchor,
    label,
    cls_pred,
    overlap_threshold=0.5,
    ignore_label=-1,
    negative_mining_ratio=-1,
    negative_mining_thresh=0.5,
    variances=(0.1, 0.1, 0.2, 0.2),
):
    anchors, n = anchor[0], anchor.shape[1]
    codes, mask = np.zeros((len(label), n, 4)), np.zeros((len(label), n, 4))
    kinds = np.full((len(label), n), float(ignore_label))
    for i, image in enumerate(label):
        image = image[: [*image[:, 0], -1].index(-1)]
        if not len(image):
            continue
        shares = np.array([[overlap(a, b) for b in image[:, 1:5]] for a in anchors])
        left, match = shares.copy(), {}
        while left.max() > 1e-6:
            j, k = np.unravel_index(left.argmax(), left.shape)
            match[j], left[j], left[:, k] = k, 0, 0
        for j in range(n):
            if overlap_threshold > 0 and j not in match and shares[j].max() > overlap_threshold:
                match[j] = shares[j].argmax()
        for j, k in match.items():
            kinds[i, j], mask[i, j] = image[k, 0] + 1, 1
            codes[i, j] = code(anchors[j], image[k, 1:5]) / variances
        rest = [j for j in range(n) if j not in match]
        if negative_mining_ratio > 0:
            count = min(int(len(match) * negative_mining_ratio), len(rest))
            share = np.exp(cls_pred[i]) / np.exp(cls_pred[i]).sum(0)
            rest = [j for j in rest if shares[j].max() < negative_mining_thresh]
            rest = sorted(rest, key=lambda j, own=share[0]: own[j])[:count]
        kinds[i, rest] = 0
    return codes.reshape(len(label), -1), mask.reshape(len(label), -1), kinds


def probabilities(rng, shape):
    made = np.exp(2 * rng.standard_normal(shape))
    return made / made.sum(1, keepdims=True)


def multibox_detection(
    cls_prob,
    loc_pred,
    anchor,
    clip=True,
    threshold=0.01,
    nms_threshold=0.5,
    force_suppress=False,
    variances=(0.1, 0.1, 0.2, 0.2),
    nms_topk=-1,
):
    stds = dict(zip(("std0", "std1", "std2", "std3"), variances))
    found = box_decode(loc_pred.reshape(len(loc_pred), -1, 4), anchor, format="corner", **stds)
    found = np.clip(found, 0, 1) if clip else found
    out = np.full((len(cls_prob), anchor.shape[1], 6), -1.0)
    for image, share, made in zip(found, cls_prob, out):
        kinds, best = share[1:].argmax(0), share[1:].max(0)
        here = np.nonzero(best >= threshold)[0]
        made[: len(here)] = np.column_stack([kinds[here], best[here], image[here]])
        if not 0 < nms_threshold <= 1:
            continue
        order = np.argsort(-best[here], kind="stable")
        order = order[:nms_topk] if nms_topk > 0 else order
        made[: len(order)] = made[order]
        made[len(order) :, 0] = -1
        own = None if force_suppress else made[: len(order), 0]
        kept = suppressed(made[: len(order), 2:], own, nms_threshold, reached=True)
        made[[i for i in range(len(order)) if i not in kept], 0] = -1
    return out


def multi_proposal(
    cls_prob,
    bbox_pred,
    im_info,
    scales,
    ratios,
    rpn_pre_nms_top_n=6000,
    rpn_post_nms_top_n=300,
    threshold=0.7,
    rpn_min_size=16,
    feature_stride=16,
    output_score=False,
    iou_loss=False,
):
    n, (height, width) = len(scales) * len(ratios), cls_prob.shape[2:]
    sizes = []
    for ratio in ratios:
        w = np.floor(np.sqrt(np.floor(feature_stride**2 / ratio)) + 0.5)
        sizes += [np.array([w, np.floor(w * ratio + 0.5)]) * scale for scale in scales]
    middle = (feature_stride - 1) / 2
    out, scores = [], []
    for image, (share, deltas, info) in enumerate(zip(cls_prob, bbox_pred, im_info)):
        found = []
        for y, x, k in np.ndindex(height, width, n):
            at = np.array([x, y]) * feature_stride + middle
            box = np.concatenate([at - (sizes[k] - 1) / 2, at + (sizes[k] - 1) / 2])
            d = deltas[4 * k : 4 * k + 4, y, x]
            if iou_loss:
                box = box + d
            else:
                at, half = at + d[:2] * sizes[k], (np.exp(d[2:]) * sizes[k] - 1) / 2
                box = np.concatenate([at - half, at + half])
            box = np.clip(box, 0, [info[1] - 1, info[0] - 1] * 2)
            inside = y < info[0] // feature_stride and x < info[1] // feature_stride
            score = share[n + k, y, x] if inside else -1
            if min(box[2:] - box[:2] + 1) < rpn_min_size * info[2]:
                score, grown = -1, rpn_min_size * info[2] / 2
                box = box + [-grown, -grown, grown, grown]
            found.append((score, box))
        order = np.argsort([-s for s, _ in found], kind="stable")
        order = order[:rpn_pre_nms_top_n] if rpn_pre_nms_top_n > 0 else order
        kept = suppressed([found[i][1] for i in order], None, threshold, more=1)
        kept = [order[k] for k in kept[:rpn_post_nms_top_n]]
        for i in range(rpn_post_nms_top_n):
            score, box = found[kept[i % len(kept)]]
            out.append([image, *box])
            scores.append([score])
    out, scores = np.reshape(out, (-1, 5)), np.reshape(scores, (-1, 1))
    return (out, scores) if output_score else out


_ANCHOR = Input((1, 30, 4), boxes)
_LABEL = Input((3, 4, 6), labels)
_TARGET = [_ANCHOR, _LABEL, (3, 4, 30)]
_DETECTION = [Input((2, 4, 30), probabilities), (2, 120), _ANCHOR]
_REGION = {"scales": (1, 2), "ratios": (0.5, 1), "rpn_post_nms_top_n": 12, "rpn_min_size": 8}


def _regions(images):
    return [
        Input((images, 8, 4, 5), (0, 1)),
        Input((images, 16, 4, 5), (-0.5, 0.5)),
        Input((images, 3), np.array([[60, 80, 1], [64, 70, 2]][:images], float)),
    ]


def _plain(op, inputs, reference, *params, **more):
    return [Case(op, inputs, reference, dict(p), grad=False, **more) for p in params]


_NMS = Input((2, 9, 6), rows)
_CODED = [
    Input((2, 6), ints(-1, 2)),
    Input((2, 6), ints(0, 3)),
    Input((2, 6, 4), boxes),
    Input((2, 3, 4), boxes),
    (4,),
    Input((4,), (0.1, 0.3)),
]
CASES = [
    *_plain(
        "_contrib_box_iou",
        [Input((3, 4), boxes), Input((2, 5, 4), boxes)],
        box_iou,
        {},
        {"format": "center"},
    ),
    *[
        Case(
            "_contrib_box_nms",
            [_NMS],
            box_nms,
            dict(p),
            reference_grad=box_nms_grad if "id_index" in p else None,
            back=(0,),
        )
        for p in (
            {},
            {"overlap_thresh": 0.1, "id_index": 0},
            {"overlap_thresh": 0.1, "id_index": 0, "force_suppress": True, "background_id": 1},
            {"topk": 3, "valid_thresh": 0.1},
            {"topk": 0},
            {"in_format": "center", "overlap_thresh": 0.1},
            {"out_format": "center", "overlap_thresh": 0.1},
            {"coord_start": 0, "score_index": 5},
        )
    ],
    *_plain(
        "_contrib_bipartite_matching",
        [(2, 4, 3)],
        bipartite_matching,
        {"threshold": 0.1},
        {"threshold": 0.2, "is_ascend": True},
        {"threshold": -1, "topk": 1},
    ),
    *_plain("_contrib_box_encode", _CODED, box_encode, {}, back=(0, 1, 2)),
    *_plain(
        "_contrib_box_decode",
        [(2, 6, 4), Input((1, 6, 4), boxes)],
        box_decode,
        {},
        {"format": "corner", "clip": 0.4, "std0": 0.1, "std1": 0.2, "std2": 0.3, "std3": 0.5},
        back=(0, 1),
    ),
    *_plain(
        "_contrib_MultiBoxPrior",
        [(1, 2, 3, 4)],
        multibox_prior,
        {},
        {"sizes": (0.5, 0.25), "ratios": (1, 2, 0.5), "clip": True},
        {"steps": (0.1, 0.2), "offsets": (0, 1)},
        dtypes=SINGLE,
    ),
    *_plain(
        "_contrib_MultiBoxTarget",
        _TARGET,
        multibox_target,
        {},
        {"overlap_threshold": 0.2, "ignore_label": -3, "variances": (1, 2, 3, 4)},
        {"overlap_threshold": 0},
        {"negative_mining_ratio": 2, "negative_mining_thresh": 0.4},
        dtypes=SINGLE,
        tolerance={"float32": (1e-4, 1e-4)},
    ),
    *_plain(
        "_contrib_MultiBoxDetection",
        _DETECTION,
        multibox_detection,
        {},
        {"clip": False, "threshold": 0.6, "force_suppress": True, "nms_threshold": 0.2},
        {"nms_topk": 5, "variances": (1, 1, 1, 1)},
        {"nms_threshold": 0},
        dtypes=SINGLE,
    ),
    *_plain(
        "_contrib_Proposal",
        _regions(1),
        multi_proposal,
        _REGION,
        {**_REGION, "output_score": True, "threshold": 0.2, "rpn_pre_nms_top_n": 20},
        dtypes=SINGLE,
    ),
    *_plain(
        "_contrib_MultiProposal",
        _regions(2),
        multi_proposal,
        {**_REGION, "output_score": True},
        {**_REGION, "iou_loss": True},
        dtypes=SINGLE,
    ),
]
