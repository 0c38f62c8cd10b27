"""Object detection: boxes, anchors, their targets, suppression, proposals."""

from . import (
    bipartite_matching,
    box_coding,
    box_iou,
    box_nms,
    multibox_detection,
    multibox_prior,
    multibox_target,
    proposal,
)
