// Loops of deformable convolution, compiled for each CPU level (levels.h).

// Computes the sample points of tap `which` (group of offsets, then tap) for n positions from `at`.
template <typename T, int OUTSIDE>
CYNET_XINLINE int64_t locate_deformed_points(const DeformShape& s, const DeformTile<T>& tile,
                                             int64_t which, int64_t at, SamplePoints<T>* points) {
  const int64_t n = at + POINTS < tile.n ? static_cast<int64_t>(POINTS) : tile.n - at;
  const int64_t tap = which % s.taps, width = s.out_size[1];
  const int64_t down = tap / s.kernel[1] * s.dilate[0] - s.pad[0];
  const int64_t right = tap % s.kernel[1] * s.dilate[1] - s.pad[1];
  const T* dy = tile.offset + which * 2 * s.out_space + tile.first + at;
  const T* dx = dy + s.out_space;
  int64_t row = (tile.first + at) / width, column = (tile.first + at) % width;
  for (int64_t i = 0; i < n; ++i) {
    point_weights<T, OUTSIDE>(points, i, static_cast<T>(row * s.stride[0] + down) + dy[i],
                              static_cast<T>(column * s.stride[1] + right) + dx[i],
                              static_cast<int32_t>(s.in_size[0]),
                              static_cast<int32_t>(s.in_size[1]));
    if (++column == width) {
      column = 0;
      ++row;
    }
  }
  return n;
}

template <typename T, int OUTSIDE>
void sample_to_columns(const DeformShape& s, const DeformTile<T>& tile, int64_t which, int64_t at) {
  SamplePoints<T> points;
  const int64_t n = locate_deformed_points<T, OUTSIDE>(s, tile, which, at, &points);
  const int64_t each = s.channels / s.offset_groups, group = which / s.taps, tap = which % s.taps;
  const T* mask = tile.mask ? tile.mask + which * s.out_space + tile.first + at : nullptr;
  for (int64_t c = group * each; c < (group + 1) * each; ++c) {
    const T* x = tile.data + c * s.in_space;
    T* column = tile.columns + (c * s.taps + tap) * tile.n + at;
    if (mask) {
      for (int64_t i = 0; i < n; ++i) column[i] = mask[i] * interpolated_value(points, i, x);
    } else {
      for (int64_t i = 0; i < n; ++i) column[i] = interpolated_value(points, i, x);
    }
  }
}

// Adds the gradient of channels [c0, c1), which share one group of offsets.
template <typename T, int OUTSIDE>
void add_channel_gradients(const DeformShape& s, const DeformTile<T>& tile, T* dx, int64_t c0,
                           int64_t c1) {
  SamplePoints<T> points;
  const int64_t group = c0 / (s.channels / s.offset_groups);
  for (int64_t tap = 0; tap < s.taps; ++tap)
    for (int64_t at = 0; at < tile.n; at += POINTS) {
      const int64_t which = group * s.taps + tap;
      const int64_t n = locate_deformed_points<T, OUTSIDE>(s, tile, which, at, &points);
      const T* mask = tile.mask ? tile.mask + which * s.out_space + tile.first + at : nullptr;
      for (int64_t c = c0; c < c1; ++c) {
        const T* g = tile.columns + (c * s.taps + tap) * tile.n + at;
        T* to = dx + c * s.in_space;
        for (int64_t i = 0; i < n; ++i) add_gradient(points, i, mask ? mask[i] * g[i] : g[i], to);
      }
    }
}

template <typename T, int OUTSIDE>
void fill_offset_grad_block(const DeformShape& s, const DeformTile<T>& tile, T* doffset, T* dmask,
                            bool add_offset, bool add_mask, int64_t which, int64_t at) {
  SamplePoints<T> points;
  T along_y[POINTS] = {}, along_x[POINTS] = {}, factor[POINTS] = {};
  const int64_t n = locate_deformed_points<T, OUTSIDE>(s, tile, which, at, &points);
  const int64_t each = s.channels / s.offset_groups, group = which / s.taps, tap = which % s.taps;
  const int64_t place = which * s.out_space + tile.first + at;
  for (int64_t c = group * each; c < (group + 1) * each; ++c) {
    const T* x = tile.data + c * s.in_space;
    const T* g = tile.columns + (c * s.taps + tap) * tile.n + at;
    if (doffset)
      for (int64_t i = 0; i < n; ++i) {
        along_y[i] += g[i] * derivative_y(points, i, x);
        along_x[i] += g[i] * derivative_x(points, i, x);
      }
    if (dmask)
      for (int64_t i = 0; i < n; ++i) factor[i] += g[i] * interpolated_value(points, i, x);
  }
  if (dmask)
    for (int64_t i = 0; i < n; ++i) write_or_add(dmask + place + i, factor[i], add_mask);
  if (!doffset) return;
  T* dy = doffset + which * 2 * s.out_space + tile.first + at;
  for (int64_t i = 0; i < n; ++i) {
    const T by = tile.mask ? tile.mask[place + i] : T(1);
    write_or_add(dy + i, along_y[i] * by, add_offset);
    write_or_add(dy + s.out_space + i, along_x[i] * by, add_offset);
  }
}
