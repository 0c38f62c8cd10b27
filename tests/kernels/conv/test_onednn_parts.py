"""How oneDNN's work is cut into parts."""

from math import prod

import numpy as np

from cynet.kernels.conv.onednn_parts import choose_slicing, count_matmul_parts, images_per_slice

LARGE = 1 << 23  # products from which on a gradient is cut


def test_cuts_of_any_shape(seed):
    """Parts are equal, no more than 16, and what slices add stays small."""
    rng, large = np.random.default_rng(seed), 0
    for _ in range(2000):
        batch, size, channels = (int(2**e) for e in rng.uniform(0, 8, 3))
        filters, kernel = int(2 ** rng.uniform(0, 9)), int(rng.choice([1, 3, 5]))
        weight = (filters, channels, kernel, kernel)
        if rng.random() < 0.2:
            weight = (1, *weight)
        data, out = (batch, channels, size, size), (batch, filters, size, size)
        slices, cuts = choose_slicing(data, weight, out)
        each = images_per_slice(batch, slices)
        assert (slices - 1) * each < batch <= slices * each
        assert filters % cuts == 0 and slices * cuts <= 16
        if slices > 1:
            assert slices * prod(weight) <= 1 << 20
        if cuts > 1:
            assert len(weight) == 4 and each * filters // cuts * size**2 <= 1 << 20
        if prod(weight) * batch * size**2 < LARGE:
            assert slices == cuts == 1
        else:
            large += 1
    assert large > 500
    # two threads at least for what networks train
    for batch, channels, size, filters, kernel in [
        (8, 3, 224, 64, 7),
        (8, 256, 14, 256, 3),
        (8, 512, 7, 512, 3),
        (1, 64, 56, 64, 3),
        (128, 16, 32, 16, 3),
        (64, 20, 12, 50, 5),
        (8, 1024, 14, 256, 1),
        (10, 64, 56, 64, 3),
        (37, 3, 159, 32, 3),
        (17, 64, 112, 64, 3),
    ]:
        weight = (filters, channels, kernel, kernel)
        shapes = (batch, channels, size, size), weight, (batch, filters, size, size)
        assert prod(choose_slicing(*shapes)) >= 4


def test_products_of_any_shape(seed):
    rng, cut = np.random.default_rng(seed), 0
    for _ in range(2000):
        stack = int(2 ** rng.uniform(0, 5)) if rng.random() < 0.3 else 1
        m, n, k = (int(2**e) for e in rng.uniform(0, 12, 3))
        parts = count_matmul_parts(stack, m, n, k)
        assert prod(parts) <= 16
        assert all(size % each == 0 for size, each in zip((stack, m, n), parts, strict=True))
        assert parts[2] == 1 or n // parts[2] % 16 == 0
        if stack * m * n * k < 1 << 22:
            assert parts == (1, 1, 1)
        cut += prod(parts) > 1
    assert cut > 300
    # what networks multiply is shared out among eight threads
    for shape in [(1, 128, 1000, 1024), (1, 64, 512, 784), (32, 128, 128, 64), (1, 4096, 64, 512)]:
        assert prod(count_matmul_parts(*shape)) >= 8
