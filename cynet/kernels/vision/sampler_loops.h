// Loops of BilinearSampler, compiled for each CPU level (levels.h). Included by sampler.h.

// The points [first, first + n) of one image's grid (2, points): rows of x, then of y, in [-1, 1].
template <typename T>
CYNET_XINLINE void grid_points(const SamplerShape& s, const T* grid, int64_t first, int64_t n,
                               Points<T>* points) {
  const int32_t height = static_cast<int32_t>(s.height), width = static_cast<int32_t>(s.width);
  const T wide = static_cast<T>(width - 1) / T(2), high = static_cast<T>(height - 1) / T(2);
  const T* x = grid + first;
  const T* y = x + s.points;
  for (int64_t i = 0; i < n; ++i)
    place_point<T, FADES>(points, i, (y[i] + T(1)) * high, (x[i] + T(1)) * wide, height, width);
}

CYNET_XINLINE int64_t block_of(const SamplerShape& s, int64_t block, int64_t* image,
                               int64_t* first) {
  const int64_t blocks = (s.points + POINTS - 1) / POINTS;
  *image = block / blocks;
  *first = block % blocks * POINTS;
  return *first + POINTS < s.points ? static_cast<int64_t>(POINTS) : s.points - *first;
}

template <typename T>
void sample_block(const SamplerShape& s, const T* data, const T* grid, T* out, bool add,
                  int64_t block) {
  Points<T> points;
  int64_t image, first;
  const int64_t n = block_of(s, block, &image, &first), plane = s.height * s.width;
  grid_points(s, grid + image * 2 * s.points, first, n, &points);
  for (int64_t c = image * s.channels; c < (image + 1) * s.channels; ++c) {
    const T* x = data + c * plane;
    T* y = out + c * s.points + first;
    if (add) {
      for (int64_t i = 0; i < n; ++i) y[i] += value_at(points, i, x);
    } else {
      for (int64_t i = 0; i < n; ++i) y[i] = value_at(points, i, x);
    }
  }
}

// dx of the planes [first_plane, last_plane) of one image.
template <typename T>
void sample_data_planes(const SamplerShape& s, const T* grid, const T* dy, T* dx, bool add,
                        int64_t image, int64_t first_plane, int64_t last_plane) {
  Points<T> points;
  const int64_t plane = s.height * s.width;
  T* planes = dx + image * s.channels * plane;
  if (!add)
    std::memset(planes + first_plane * plane, 0,
                static_cast<size_t>((last_plane - first_plane) * plane) * sizeof(T));
  for (int64_t first = 0; first < s.points; first += POINTS) {
    const int64_t n = first + POINTS < s.points ? static_cast<int64_t>(POINTS) : s.points - first;
    grid_points(s, grid + image * 2 * s.points, first, n, &points);
    for (int64_t c = first_plane; c < last_plane; ++c) {
      const T* g = dy + (image * s.channels + c) * s.points + first;
      for (int64_t i = 0; i < n; ++i) spread(points, i, g[i], planes + c * plane);
    }
  }
}

template <typename T>
void sample_grid_block(const SamplerShape& s, const T* data, const T* grid, const T* dy, T* dgrid,
                       bool add, int64_t block) {
  Points<T> points;
  T along_x[POINTS] = {}, along_y[POINTS] = {};
  int64_t image, first;
  const int64_t n = block_of(s, block, &image, &first), plane = s.height * s.width;
  grid_points(s, grid + image * 2 * s.points, first, n, &points);
  for (int64_t c = image * s.channels; c < (image + 1) * s.channels; ++c) {
    const T* x = data + c * plane;
    const T* g = dy + c * s.points + first;
    for (int64_t i = 0; i < n; ++i) {
      along_y[i] += g[i] * slope_y(points, i, x);
      along_x[i] += g[i] * slope_x(points, i, x);
    }
  }
  const T wide = static_cast<T>(s.width - 1) / T(2), high = static_cast<T>(s.height - 1) / T(2);
  T* out = dgrid + image * 2 * s.points + first;
  for (int64_t i = 0; i < n; ++i) {
    put(out + i, along_x[i] * wide, add);
    put(out + s.points + i, along_y[i] * high, add);
  }
}
