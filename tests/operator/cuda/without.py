"""Operators that have no form for GPUs, and why. The list only gets shorter."""

_USERS = "its code is the user's, for every device"

_BOXES = "sorting and greedy choices over boxes, no kernel of a few lines"
_DETECTION = """
    MultiBoxPrior MultiBoxTarget MultiBoxDetection Proposal MultiProposal bipartite_matching box_iou
    box_nms box_encode box_decode
"""
_IMAGES = "images are read and changed on the host, by the workers that load them"
_CHANGES = """
    to_tensor normalize resize random_flip_left_right random_flip_top_bottom random_brightness
    random_contrast random_saturation random_hue random_color_jitter random_lighting adjust_lighting
"""

WITHOUT = {
    **{f"_image_{name}": _IMAGES for name in _CHANGES.split()},
    **{f"_contrib_{name}": _BOXES for name in _DETECTION.split()},
    "Custom": _USERS,
    "_NDArray": _USERS,
    "_Native": _USERS,
    "CTCLoss": "a recursion over steps: one kernel of its own, not written",
}
