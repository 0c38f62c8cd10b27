// Loops of planes that are resized, compiled for each CPU level (levels.h). Included by resize.h.

template <typename T>
void resize_plane(const ResizeShape& s, const ResizePlace* rows, const ResizePlace* columns,
                  const T* x, T* y, bool add, void* space) {
  T* line = static_cast<T*>(space);  // two rows of x, mixed
  for (int64_t i = 0; i < s.out_size[0]; ++i) {
    const T* upper = x + rows[i].first * s.in_size[1];
    const T* lower = x + rows[i].last * s.in_size[1];
    const T part = static_cast<T>(rows[i].weight), rest = T(1) - part;
    CYNET_IVDEP
    for (int64_t w = 0; w < s.in_size[1]; ++w) line[w] = rest * upper[w] + part * lower[w];
    for (int64_t j = 0; j < s.out_size[1]; ++j) {
      const T weight = static_cast<T>(columns[j].weight);
      put(y++, (T(1) - weight) * line[columns[j].first] + weight * line[columns[j].last], add);
    }
  }
}

template <typename T>
void resize_plane_backward(const ResizeShape& s, const ResizePlace* rows,
                           const ResizePlace* columns, const T* dy, T* dx, bool add, void* space) {
  T* line = static_cast<T*>(space);
  if (!add) std::memset(dx, 0, static_cast<size_t>(s.in_size[0] * s.in_size[1]) * sizeof(T));
  for (int64_t i = 0; i < s.out_size[0]; ++i) {
    for (int64_t w = 0; w < s.in_size[1]; ++w) line[w] = T(0);
    for (int64_t j = 0; j < s.out_size[1]; ++j) {
      const T g = *dy++, weight = static_cast<T>(columns[j].weight);
      line[columns[j].first] += (T(1) - weight) * g;
      line[columns[j].last] += weight * g;
    }
    T* upper = dx + rows[i].first * s.in_size[1];
    T* lower = dx + rows[i].last * s.in_size[1];
    const T part = static_cast<T>(rows[i].weight), rest = T(1) - part;
    CYNET_IVDEP
    for (int64_t w = 0; w < s.in_size[1]; ++w) upper[w] += rest * line[w];
    CYNET_IVDEP
    for (int64_t w = 0; w < s.in_size[1]; ++w) lower[w] += part * line[w];
  }
}

template <typename T>
void mean_plane(const ResizeShape& s, const ResizePlace* rows, const ResizePlace* columns,
                const T* x, T* y, bool add, void* space) {
  double* line = static_cast<double*>(space);  // sums of rows
  for (int64_t i = 0; i < s.out_size[0]; ++i) {
    for (int64_t w = 0; w < s.in_size[1]; ++w) line[w] = 0;
    for (int64_t h = rows[i].first; h < rows[i].last; ++h) {
      const T* row = x + h * s.in_size[1];
      CYNET_IVDEP
      for (int64_t w = 0; w < s.in_size[1]; ++w) line[w] += row[w];
    }
    for (int64_t j = 0; j < s.out_size[1]; ++j) {
      double total = 0;
      for (int64_t w = columns[j].first; w < columns[j].last; ++w) total += line[w];
      const int64_t area = (rows[i].last - rows[i].first) * (columns[j].last - columns[j].first);
      put(y++, static_cast<T>(total / static_cast<double>(area)), add);
    }
  }
}

template <typename T>
void mean_plane_backward(const ResizeShape& s, const ResizePlace* rows, const ResizePlace* columns,
                         const T* dy, T* dx, bool add, void* space) {
  T* line = static_cast<T*>(space);
  if (!add) std::memset(dx, 0, static_cast<size_t>(s.in_size[0] * s.in_size[1]) * sizeof(T));
  for (int64_t i = 0; i < s.out_size[0]; ++i) {
    for (int64_t w = 0; w < s.in_size[1]; ++w) line[w] = T(0);
    for (int64_t j = 0; j < s.out_size[1]; ++j) {
      const int64_t area = (rows[i].last - rows[i].first) * (columns[j].last - columns[j].first);
      const T g = *dy++ / static_cast<T>(area);
      for (int64_t w = columns[j].first; w < columns[j].last; ++w) line[w] += g;
    }
    for (int64_t h = rows[i].first; h < rows[i].last; ++h) {
      T* row = dx + h * s.in_size[1];
      CYNET_IVDEP
      for (int64_t w = 0; w < s.in_size[1]; ++w) row[w] += line[w];
    }
  }
}
