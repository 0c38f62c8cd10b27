"""Fewer combinations than all of them: every two values of two lists still meet."""

import itertools


def pairwise(*lists):
    """Rows with one value of each list; any two values of two lists stand together in a row.

    For ``pytest.mark.parametrize``, in place of one mark for each list: most faults need two
    circumstances, not five. Two lists give their whole product. The rows depend on the lists'
    lengths alone, so a test keeps its cases.
    """
    sizes = [len(values) for values in lists]
    if len(sizes) < 2 or not all(sizes):
        return list(itertools.product(*lists))
    missing = {
        ((i, a), (j, b)): None  # a dict keeps its order
        for i, j in itertools.combinations(range(len(sizes)), 2)
        for a in range(sizes[i])
        for b in range(sizes[j])
    }
    used = [[0] * size for size in sizes]
    rows = []
    while missing:
        row = dict(next(iter(missing)))
        for place in range(len(sizes)):
            if place not in row:
                row[place] = _best(place, row, missing, used[place])
        for pair in itertools.combinations(sorted(row.items()), 2):
            missing.pop(pair, None)
        for place, value in row.items():
            used[place][value] += 1
        rows.append(tuple(lists[place][row[place]] for place in range(len(sizes))))
    return rows


def _best(place, row, missing, used):
    """The value that meets the most of a row's others for the first time; of those the rarest."""

    def worth(value):
        met = sum(tuple(sorted((other, (place, value)))) in missing for other in row.items())
        return met, -used[value]

    return max(range(len(used)), key=worth)
