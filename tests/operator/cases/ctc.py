"""Cases of CTCLoss."""

import itertools

import numpy as np

from .case import Case, Input


def collapsed(path, blank):
    """A sequence of classes without repetitions, then without blanks."""
    return tuple(k for k, _ in itertools.groupby(path) if k != blank)


def ctc_loss(data, label, *lengths, **params):
    """The sum over all sequences of classes, one by one."""
    steps, batch, classes = data.shape
    lengths = list(lengths)
    times = lengths.pop(0) if params.get("use_data_lengths") else [steps] * batch
    blank, padding = (classes - 1, -1) if params.get("blank_label") == "last" else (0, 0)
    chances = np.exp(data - data.max(-1, keepdims=True))
    chances /= chances.sum(-1, keepdims=True)
    out = np.zeros(batch, data.dtype)
    for b in range(batch):
        row = [int(k) for k in label[b]]
        if params.get("use_label_lengths"):
            row = row[: int(lengths[0][b])]
        elif padding in row:
            row = row[: row.index(padding)]
        total = sum(
            np.prod([chances[t, b, k] for t, k in enumerate(path)])
            for path in itertools.product(range(classes), repeat=int(times[b]))
            if collapsed(path, blank) == tuple(row)
        )
        out[b] = -np.log(total) if total else 0  # no sequence at all
    return out


def labels(rows):
    return Input(np.shape(rows), rows, "float32")


CASES = [
    Case("CTCLoss", [(4, 3, 3), labels([[1, 2], [2, 2], [0, 0]])], ctc_loss, grad=(0,)),
    Case(
        "CTCLoss",
        [(4, 2, 4), Input((2, 3), [[2, 0, 1], [1, -1, -1]], "int32")],
        ctc_loss,
        {"blank_label": "last"},
        grad=(0,),
    ),
    Case(
        "CTCLoss",
        [
            (5, 3, 3),
            labels([[1, 1, 2], [2, 2, 1], [1, 2, 2]]),
            labels([5, 3, 2]),
            labels([3, 1, 2]),
        ],
        ctc_loss,
        {"use_data_lengths": True, "use_label_lengths": True},
        grad=(0,),
        note="lengths, one sample too short",
    ),
]
