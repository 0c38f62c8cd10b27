"""Images made up: textures to learn from, a landscape to paint, waves to paint it like."""

import numpy as np

KINDS = ("stripes", "checks", "dots", "rings", "noise", "clouds")


def colours(rng, count):
    """Two colours (3, 1, 1) for each of `count` images, far from each other."""
    first = rng.uniform(0, 1, (count, 3, 1, 1))
    return first, (first + rng.uniform(0.35, 0.65, first.shape)) % 1


def smooth(values, times):
    """Means over neighbours, again and again; edges meet."""
    for _ in range(times):
        for axis in (-1, -2):
            values = (np.roll(values, 1, axis) + values + np.roll(values, -1, axis)) / 3
    return values


def pattern(kind, size, rng):
    """A pattern (size, size) from 0 to 1."""
    y, x = np.mgrid[:size, :size]
    angle, period = rng.uniform(0, np.pi), rng.uniform(4, 9)
    u = x * np.cos(angle) + y * np.sin(angle)
    v = y * np.cos(angle) - x * np.sin(angle)
    if kind == "stripes":
        return 0.5 + 0.5 * np.sin(2 * np.pi * u / period)
    if kind == "checks":
        return (np.sin(2 * np.pi * u / period) * np.sin(2 * np.pi * v / period) > 0).astype(float)
    if kind == "dots":
        wave = np.cos(2 * np.pi * u / period) + np.cos(2 * np.pi * v / period)
        return (wave > 1).astype(float)
    if kind == "rings":
        away = np.hypot(x - rng.uniform(0, size), y - rng.uniform(0, size))
        return 0.5 + 0.5 * np.sin(2 * np.pi * away / period)
    if kind == "noise":
        return rng.uniform(0, 1, (size, size))
    clouds = smooth(rng.uniform(0, 1, (size, size)), 6)
    return (clouds - clouds.min()) / np.ptp(clouds)


def textures(count, size, rng):
    """Images (count, 3, size, size) from 0 to 1 in any two colours, and their kinds."""
    kinds = rng.integers(len(KINDS), size=count)
    values = np.stack([pattern(KINDS[kind], size, rng) for kind in kinds])[:, None]
    first, second = colours(rng, count)
    return (first + values * (second - first)).astype(np.float32), kinds


def landscape(size):
    """A sun over hills: an image (3, size, size)."""
    y, x = np.mgrid[:size, :size] / size
    image = np.stack([0.45 + 0.3 * y, 0.65 + 0.15 * y, 0.95 - 0.1 * y])
    layers = (
        (np.hypot(x - 0.7, y - 0.28) < 0.14, (0.98, 0.85, 0.3)),
        (y > 0.55 + 0.12 * np.sin(5 * x), (0.35, 0.5, 0.55)),
        (y > 0.72 + 0.1 * np.sin(7 * x + 2), (0.2, 0.4, 0.2)),
    )
    for where, colour in layers:
        image = np.where(where, np.reshape(colour, (3, 1, 1)), image)
    return image.astype(np.float32)


def waves(size):
    """Bent stripes of four colours: an image (3, size, size)."""
    y, x = np.mgrid[:size, :size]
    phase = (x + 0.5 * y + 6 * np.sin(y / 7) + 5 * np.sin(x / 9)) / 7
    palette = np.array([(0.1, 0.15, 0.45), (0.95, 0.6, 0.1), (0.9, 0.9, 0.75), (0.7, 0.1, 0.15)])
    at = phase % 4
    low = at.astype(int)
    part = np.clip((at - low - 0.7) / 0.3, 0, 1)[..., None]
    image = palette[low] * (1 - part) + palette[(low + 1) % 4] * part
    return image.transpose(2, 0, 1).astype(np.float32)


def read(path, size):
    """A file's image as (3, size, size) from 0 to 1: its middle square."""
    import cynet as mx

    image = mx.image.imread(str(path))
    side = min(image.shape[:2])
    square, _ = mx.image.center_crop(image, (side, side))
    return mx.image.imresize(square, size, size).asnumpy().transpose(2, 0, 1) / np.float32(255)


def pixels(image):
    """(3, h, w) from 0 to 1 as (h, w, 3)."""
    return image.transpose(1, 2, 0).clip(0, 1)
