"""Operators that have no form for GPUs, and why. The list only gets shorter."""

_USERS = "its code is the user's, for every device"

_BOXES = "sorting and greedy choices over boxes, no kernel of a few lines"
_DETECTION = """
    MultiBoxPrior MultiBoxTarget MultiBoxDetection Proposal MultiProposal bipartite_matching box_iou
    box_nms box_encode box_decode
"""

WITHOUT = {
    **{f"_contrib_{name}": _BOXES for name in _DETECTION.split()},
    "Custom": _USERS,
    "_NDArray": _USERS,
    "_Native": _USERS,
    "CTCLoss": "a recursion over steps: one kernel of its own, not written",
}
