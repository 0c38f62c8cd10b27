"""Cases of the operators of cynet/operator/vision, with their formulas written slowly."""

import numpy as np

from .case import Case, Input, apart

ROIS = np.array(
    [
        [0, 0.3, 0.6, 6.2, 5.4],
        [1, 1.3, 2.2, 8.1, 4.7],
        [0, -3.4, -2.1, 4.3, 30.2],
        [1, 5.1, 4.2, 5.3, 4.8],
        [-1, 0, 0, 5, 5],
        [1, 20, 20, 30, 30],
    ]
)
INSIDE = np.array(
    [[0, 4.2, 3.1, 50.4, 37.3], [1, 10.6, 20.2, 70.9, 44.1], [1, 3.3, 2.9, 33.1, 38.6]]
)
ROTATED = np.array(
    [
        [0, 4.2, 3.1, 6.3, 3.2, 0],
        [1, 3.3, 3.2, 7.1, 4.7, 30],
        [0, 1.1, 2.2, 4.4, 8.3, -75],
        [-1, 3, 3, 4, 4, 10],
        [1, 30, 30, 5, 5, 45],
    ]
)


def rois(values, columns=5):
    return Input((len(values), columns), values)


def bilinear(plane, y, x, holds=False):
    """The value at (y, x): pixels outside are zeros; `holds`: as MXNet's first deformable form."""
    height, width = plane.shape
    if holds:
        if not (0 <= y < height and 0 <= x < width):
            return 0.0
        y, x = min(y, height - 1), min(x, width - 1)
    total, low_y, low_x = 0.0, int(np.floor(y)), int(np.floor(x))
    for h in (low_y, low_y + 1):
        for w in (low_x, low_x + 1):
            if 0 <= h < height and 0 <= w < width:
                total += (1 - abs(y - h)) * (1 - abs(x - w)) * plane[h, w]
    return total


def near(plane, y, x):
    """The same, the edge going on for one pixel, zeros beyond (ROIAlign)."""
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    return bilinear(plane, min(max(y, 0), height - 1), min(max(x, 0), width - 1))


def line(n):
    return np.linspace(-1, 1, n) if n > 1 else np.zeros(1)


def grid_generator(data, transform_type, target_shape=None):
    if transform_type == "affine":
        y, x = np.meshgrid(line(target_shape[0]), line(target_shape[1]), indexing="ij")
        points = np.stack([x, y, np.ones_like(x)])
        return np.einsum("nij,jhw->nihw", data.reshape(-1, 2, 3), points)
    _, _, height, width = data.shape
    y, x = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    size = np.array([max(width - 1, 1), max(height - 1, 1)]).reshape(1, 2, 1, 1)
    return (data + np.stack([x, y])) * 2 / size - 1


def bilinear_sampler(data, grid):
    out = np.zeros((*data.shape[:2], *grid.shape[2:]), data.dtype)
    height, width = data.shape[2:]
    for n, c, i, j in np.ndindex(out.shape):
        x, y = (grid[n, :, i, j] + 1) * [(width - 1) / 2, (height - 1) / 2]
        out[n, c, i, j] = bilinear(data[n, c], y, x)
    return out


def spatial_transformer(data, loc, target_shape, **_):
    return bilinear_sampler(data, grid_generator(loc, "affine", target_shape))


def correlation(
    a, b, kernel_size=1, max_displacement=1, stride1=1, stride2=1, pad_size=0, is_multiply=True
):
    a, b = (np.pad(x, ((0, 0), (0, 0), (pad_size,) * 2, (pad_size,) * 2)) for x in (a, b))
    half, reach = kernel_size // 2, max_displacement // stride2
    border = max_displacement + half
    places = [range(border, n - border, stride1) for n in a.shape[2:]]
    shifts = [
        (dy * stride2, dx * stride2)
        for dy in range(-reach, reach + 1)
        for dx in range(-reach, reach + 1)
    ]
    out = np.zeros((len(a), len(shifts), len(places[0]), len(places[1])), a.dtype)
    for k, (dy, dx) in enumerate(shifts):
        for i, y in enumerate(places[0]):
            for j, x in enumerate(places[1]):
                one = a[:, :, y - half : y + half + 1, x - half : x + half + 1]
                y2, x2 = y + dy, x + dx
                # a patch may stand over the border of the padded image: zeros there
                wide = np.pad(b, ((0, 0), (0, 0), (border, border), (border, border)))
                other = wide[
                    :,
                    :,
                    border + y2 - half : border + y2 + half + 1,
                    border + x2 - half : border + x2 + half + 1,
                ]
                both = one * other if is_multiply else abs(one - other)
                out[:, k, i, j] = both.mean((1, 2, 3))
    return out


def away(x):
    """Rounded half away from zero."""
    return np.sign(x) * np.floor(abs(x) + 0.5)


def roi_pooling(data, rois, pooled_size, spatial_scale):
    _, channels, height, width = data.shape
    out = np.zeros((len(rois), channels, *pooled_size), data.dtype)
    for r, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = away(np.array(corners) * spatial_scale)
        for c, i, j in np.ndindex(out.shape[1:]):
            if image < 0:
                continue
            bins = []
            for start, end, k, n, size in (
                (y1, y2, i, pooled_size[0], height),
                (x1, x2, j, pooled_size[1], width),
            ):
                each = max(end - start + 1, 1) / n
                first, last = start + np.floor(k * each), start + np.ceil((k + 1) * each)
                bins.append(slice(*np.clip([first, last], 0, size).astype(int)))
            part = data[int(image), c][bins[0], bins[1]]
            out[r, c, i, j] = part.max() if part.size else 0
    return out


def samples(start, length, n, ratio):
    """Places of the samples of each of n bins along an axis."""
    each = length / n
    count = ratio if ratio > 0 else max(int(np.ceil(each)), 1)
    return [start + each * (k + (np.arange(count) + 0.5) / count) for k in range(n)]


def roi_align(
    data, rois, pooled_size, spatial_scale, sample_ratio=-1, position_sensitive=False, aligned=False
):
    bins = pooled_size[0] * pooled_size[1]
    channels = data.shape[1] // bins if position_sensitive else data.shape[1]
    out = np.zeros((len(rois), channels, *pooled_size), data.dtype)
    for r, (image, *corners) in enumerate(rois):
        x1, y1, x2, y2 = np.array(corners) * spatial_scale - 0.5 * aligned
        height, width = (y2 - y1, x2 - x1) if aligned else (max(y2 - y1, 1), max(x2 - x1, 1))
        ys = samples(y1, height, pooled_size[0], sample_ratio)
        xs = samples(x1, width, pooled_size[1], sample_ratio)
        for c, i, j in np.ndindex(out.shape[1:]):
            if image < 0:
                continue
            which = c * bins + i * pooled_size[1] + j if position_sensitive else c
            plane = data[int(image), which]
            out[r, c, i, j] = np.mean([near(plane, y, x) for y in ys[i] for x in xs[j]])
    return out


def rotated_roi_align(data, rois, pooled_size, spatial_scale, sampling_ratio=-1):
    out = np.zeros((len(rois), data.shape[1], *pooled_size), data.dtype)
    for r, (image, *numbers) in enumerate(rois):
        x0, y0, width, height = np.array(numbers[:4]) * spatial_scale
        width, height, angle = max(width, 1), max(height, 1), np.deg2rad(numbers[4])
        sine, cosine = np.sin(angle), np.cos(angle)
        ys = samples(-height / 2, height, pooled_size[0], sampling_ratio)
        xs = samples(-width / 2, width, pooled_size[1], sampling_ratio)
        for c, i, j in np.ndindex(out.shape[1:]):
            if image >= 0:
                plane = data[int(image), c]
                found = [
                    near(plane, y0 + y * cosine - x * sine, x0 + y * sine + x * cosine)
                    for y in ys[i]
                    for x in xs[j]
                ]
                out[r, c, i, j] = np.mean(found)
    return out


def psroi_pooling(data, rois, spatial_scale, output_dim, pooled_size, group_size=0):
    group = group_size or pooled_size
    _, _, height, width = data.shape
    out = np.zeros((len(rois), output_dim, pooled_size, pooled_size), data.dtype)
    for r, (image, *corners) in enumerate(rois):
        x1, y1 = away(np.array(corners[:2])) * spatial_scale
        x2, y2 = (away(np.array(corners[2:])) + 1) * spatial_scale
        for d, i, j in np.ndindex(out.shape[1:]):
            if image < 0:
                continue
            bins = []
            for start, end, k, size in ((y1, y2, i, height), (x1, x2, j, width)):
                each = max(end - start, 0.1) / pooled_size
                edges = np.floor(k * each + start), np.ceil((k + 1) * each + start)
                bins.append(slice(*np.clip(edges, 0, size).astype(int)))
            channel = (d * group + i * group // pooled_size) * group + j * group // pooled_size
            part = data[int(image), channel][bins[0], bins[1]]
            out[r, d, i, j] = part.mean() if part.size else 0
    return out


def deformable_psroi_pooling(
    data,
    rois,
    *trans,
    spatial_scale,
    output_dim,
    group_size,
    pooled_size,
    part_size=0,
    sample_per_part=1,
    trans_std=0.0,
    no_trans=False,
):
    part, std = part_size or pooled_size, trans_std
    _, _, height, width = data.shape
    out = np.zeros((len(rois), output_dim, pooled_size, pooled_size), data.dtype)
    for r, (image, *corners) in enumerate(rois):
        x1, y1 = away(np.array(corners[:2])) * spatial_scale - 0.5
        x2, y2 = (away(np.array(corners[2:])) + 1) * spatial_scale - 0.5
        tall, wide = max(y2 - y1, 0.1), max(x2 - x1, 0.1)
        for d, i, j in np.ndindex(out.shape[1:]):
            if image < 0:
                continue
            moved = [0, 0]
            if not no_trans:
                of_class = output_dim // (trans[0].shape[1] // 2)
                place = (i * part // pooled_size, j * part // pooled_size)
                moved = [trans[0][(r, d // of_class * 2 + a, *place)] * std for a in (0, 1)]
            each_y, each_x = tall / pooled_size, wide / pooled_size
            group = group_size
            channel = (d * group + i * group // pooled_size) * group + j * group // pooled_size
            found = []
            for iy in range(sample_per_part):
                for ix in range(sample_per_part):
                    y = y1 + each_y * (i + iy / sample_per_part) + moved[1] * tall
                    x = x1 + each_x * (j + ix / sample_per_part) + moved[0] * wide
                    if -0.5 <= y <= height - 0.5 and -0.5 <= x <= width - 0.5:
                        found.append(near(data[int(image), channel], y, x))
            out[r, d, i, j] = np.mean(found) if found else 0
    return out


def deformable_convolution(
    data,
    offset,
    *others,
    kernel,
    num_filter,
    stride=(1, 1),
    dilate=(1, 1),
    pad=(0, 0),
    num_group=1,
    num_deformable_group=1,
    no_bias=False,
    modulated=False,
):
    mask, *others = others if modulated else (None, *others)
    weight, bias = others if not no_bias else (others[0], np.zeros(num_filter))
    n, channels = data.shape[:2]
    taps, size = kernel[0] * kernel[1], offset.shape[2:]
    columns = np.zeros((n, channels, taps, *size), data.dtype)
    for b, c, k, i, j in np.ndindex(columns.shape):
        group = c // (channels // num_deformable_group) * taps + k
        dy, dx = offset[b, 2 * group : 2 * group + 2, i, j]
        y = i * stride[0] - pad[0] + k // kernel[1] * dilate[0] + dy
        x = j * stride[1] - pad[1] + k % kernel[1] * dilate[1] + dx
        columns[b, c, k, i, j] = bilinear(data[b, c], y, x, holds=not modulated)
        if modulated:
            columns[b, c, k, i, j] *= mask[b, group, i, j]
    out = np.empty((n, num_filter, *size), data.dtype)
    for f in range(num_filter):
        each = channels // num_group
        first = f // (num_filter // num_group) * each
        window = weight[f].reshape(each, taps)
        out[:, f] = np.einsum("ck,bckij->bij", window, columns[:, first : first + each]) + bias[f]
    return out


def adaptive_avg_pooling(data, output_size=()):
    size = {0: (1, 1), 1: tuple(output_size) * 2}.get(len(output_size), output_size)
    out = np.zeros((*data.shape[:2], *size), data.dtype)
    for i, j in np.ndindex(*size):
        rows, columns = (
            slice(k * n // m, -(-(k + 1) * n // m))
            for k, n, m in ((i, data.shape[2], size[0]), (j, data.shape[3], size[1]))
        )
        out[:, :, i, j] = data[:, :, rows, columns].mean((2, 3))
    return out


def resized(data, size, align_corners):
    out = np.zeros((*data.shape[:2], *size), data.dtype)
    places = []
    for n, m in zip(data.shape[2:], size):
        if align_corners:
            places.append(np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0))
        else:
            places.append(np.clip((np.arange(m) + 0.5) * n / m - 0.5, 0, n - 1))
    for n, c, i, j in np.ndindex(out.shape):
        out[n, c, i, j] = bilinear(data[n, c], places[0][i], places[1][j])
    return out


def bilinear_resize(
    data,
    *like,
    height=1,
    width=1,
    scale_height=None,
    scale_width=None,
    mode="size",
    align_corners=True,
):
    size = list(data.shape[2:])
    if mode == "like":
        size = like[0].shape[2:]
    elif mode.startswith("to_"):
        for axis, n in enumerate(size):
            if n % 2 == (1 if "even" in mode else 0) and n:
                size[axis] = n + (1 if mode.endswith("up") else -1)
    elif scale_height is None:
        size = height, width
    else:
        for axis, (n, scale) in enumerate(zip(size, (scale_height, scale_width))):
            odd = mode == "odd_scale" and n % 2
            size[axis] = int((n - 1) * scale + 1 if odd else n * scale)
    return resized(data, tuple(size), align_corners)


def sampling():
    for params in ({"target_shape": (3, 4)}, {"target_shape": (1, 5)}):
        params = {"transform_type": "affine", **params}
        yield Case("GridGenerator", [(2, 6)], grid_generator, params, back=(0,))
    for shape in ((2, 2, 3, 4), (1, 2, 1, 5)):
        params = {"transform_type": "warp"}
        yield Case("GridGenerator", [shape], grid_generator, params, back=(0,))
    for low, high, note in ((-0.9, 0.9, "inside"), (-1.7, 1.7, "outside")):
        grid = Input((2, 2, 4, 3), (low, high))
        yield Case("BilinearSampler", [(2, 3, 5, 4), grid], bilinear_sampler, note=note)
    yield Case("BilinearSampler", [(1, 2, 1, 1), (1, 2, 2, 2)], bilinear_sampler)
    params = {"transform_type": "affine", "sampler_type": "bilinear"}
    for shape, target in (((2, 3, 5, 4), (3, 6)), ((1, 1, 3, 3), (1, 2))):
        yield Case(
            "SpatialTransformer",
            [shape, (shape[0], 6)],
            spatial_transformer,
            {**params, "target_shape": target},
            back=(1,),
        )
    for params in (
        {},
        {"max_displacement": 2, "pad_size": 3, "kernel_size": 3},
        {"max_displacement": 3, "stride1": 2, "stride2": 2, "pad_size": 4, "kernel_size": 3},
        {"max_displacement": 2, "pad_size": 2, "is_multiply": False},
        {"max_displacement": 1, "pad_size": 3, "is_multiply": False, "kernel_size": 3},
        {"max_displacement": 0},
    ):
        yield Case("Correlation", [(2, 2, 6, 5), (2, 2, 6, 5)], correlation, params, infers=(1,))


def regions():
    pooled = {"pooled_size": (3, 2), "spatial_scale": 1.0}
    regions = rois(ROIS)
    yield Case("ROIPooling", [Input((2, 3, 7, 9), apart), regions], roi_pooling, pooled, grad=(0,))
    yield Case(
        "ROIPooling",
        [Input((2, 2, 6, 9), apart), rois(INSIDE)],
        roi_pooling,
        {"pooled_size": (4, 4), "spatial_scale": 0.125},
        grad=(0,),
    )
    for params in (
        pooled,
        {**pooled, "sample_ratio": 2},
        {**pooled, "position_sensitive": True, "spatial_scale": 0.5},
    ):
        channels = 12 if "position_sensitive" in params else 3
        inputs = [(2, channels, 7, 9), regions]
        yield Case("_contrib_ROIAlign", inputs, roi_align, params, grad=(0,))
    yield Case(
        "_contrib_ROIAlign",
        [(2, 2, 6, 9), rois(INSIDE)],
        roi_align,
        {"pooled_size": (2, 3), "spatial_scale": 0.125, "aligned": True},
        grad=(0,),
    )
    for params in (pooled, {**pooled, "sampling_ratio": 3, "spatial_scale": 0.5}):
        inputs = [(2, 3, 7, 9), rois(ROTATED, 6)]
        yield Case("_contrib_RROIAlign", inputs, rotated_roi_align, params, grad=(0,))
    base = {"output_dim": 2, "pooled_size": 3, "spatial_scale": 0.125}
    for params in (
        base,
        {**base, "group_size": 2},
        {**base, "spatial_scale": 1.0, "group_size": 1},
    ):
        channels = 2 * (params.get("group_size") or 3) ** 2
        inputs = [(2, channels, 7, 9), rois(INSIDE if "group_size" not in params else ROIS)]
        yield Case("_contrib_PSROIPooling", inputs, psroi_pooling, params, grad=(0,), back=())
    base = {**base, "group_size": 2}
    yield Case(
        "_contrib_DeformablePSROIPooling",
        [(2, 8, 7, 9), rois(INSIDE)],
        deformable_psroi_pooling,
        {**base, "no_trans": True, "sample_per_part": 2},
        grad=(0,),
    )
    for part, classes, more in (
        (3, 1, {"trans_std": 0.1}),
        (2, 2, {"trans_std": 0.3, "sample_per_part": 3, "part_size": 2}),
    ):
        yield Case(
            "_contrib_DeformablePSROIPooling",
            [(2, 8, 7, 9), rois(INSIDE), (3, 2 * classes, part, part)],
            deformable_psroi_pooling,
            {**base, **more},
            grad=(0, 2),
        )


def windows():
    plain = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 2}
    odd = {
        "kernel": (3, 2),
        "stride": (2, 1),
        "dilate": (1, 2),
        "pad": (2, 1),
        "num_filter": 4,
        "num_group": 2,
        "num_deformable_group": 2,
        "no_bias": True,
    }
    for params, data, size in ((plain, (2, 3, 4, 5), (4, 5)), (odd, (2, 4, 6, 5), (4, 5))):
        groups = params.get("num_deformable_group", 1)
        taps = params["kernel"][0] * params["kernel"][1] * groups
        weight = (params["num_filter"], data[1] // params.get("num_group", 1), *params["kernel"])
        others = [weight] if params.get("no_bias") else [weight, (params["num_filter"],)]
        offset = Input((data[0], 2 * taps, *size), (-1.7, 1.7))
        yield Case(
            "_contrib_DeformableConvolution",
            [data, offset, *others],
            deformable_convolution,
            params,
            infers=tuple(range(1, 2 + len(others))),
        )
        yield Case(
            "_contrib_ModulatedDeformableConvolution",
            [data, offset, Input((data[0], taps, *size), (0, 1)), *others],
            lambda *x, **p: deformable_convolution(*x, **p, modulated=True),
            params,
            infers=tuple(range(1, 3 + len(others))),
        )


def sizes():
    for size in ((), (2,), (3, 5), (7, 8)):
        yield Case(
            "_contrib_AdaptiveAvgPooling2D",
            [(2, 3, 6, 5)],
            adaptive_avg_pooling,
            {"output_size": size},
        )
    shape = (2, 2, 5, 6)
    for params in (
        {"height": 4, "width": 9},
        {"height": 7, "width": 3, "align_corners": False},
        {},
        {"scale_height": 2.0, "scale_width": 0.5},
        {"scale_height": 0.5, "scale_width": 2.0, "mode": "odd_scale"},
        {"mode": "to_even_down"},
        {"mode": "to_even_up"},
        {"mode": "to_odd_down"},
        {"mode": "to_odd_up"},
    ):
        yield Case("_contrib_BilinearResize2D", [shape], bilinear_resize, params)
    yield Case(
        "_contrib_BilinearResize2D",
        [shape, (1, 3, 4, 7)],
        bilinear_resize,
        {"mode": "like"},
        grad=(0,),
    )


CASES = [*sampling(), *regions(), *windows(), *sizes()]
