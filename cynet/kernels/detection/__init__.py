"""Loops over boxes: overlaps, suppression, anchors, targets, proposals."""
