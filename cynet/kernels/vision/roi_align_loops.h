// Loops of ROIAlign, compiled for each CPU level (levels.h). Included by roi_align.h.

// The weights of `bins` bins of length `each` from `start` on, with `samples` samples each.
template <typename T>
CYNET_XINLINE void bin_weights(T start, T each, int64_t samples, int64_t bins, int64_t size,
                               BinWeights<T>* to) {
  const T step = each / static_cast<T>(samples);
  for (int64_t b = 0; b < bins; ++b) {
    const T from = start + static_cast<T>(b) * each;
    T* weight = to->weight + b * size;
    // samples far outside the data are passed over
    const double before = std::floor((-1.0 - from) / step - 0.5) - 1;
    const double behind = std::ceil((static_cast<double>(size) - from) / step - 0.5) + 1;
    const int64_t i0 = before > 0 ? (before < samples ? static_cast<int64_t>(before) : samples) : 0;
    const int64_t i1 = behind < samples ? (behind > 0 ? static_cast<int64_t>(behind) : 0) : samples;
    int64_t first = size, last = 0, low, high;
    T part;
    for (int64_t i = i0; i < i1; ++i) {
      if (!near_pixels(from + (static_cast<T>(i) + T(.5)) * each / static_cast<T>(samples), size,
                       &low, &high, &part))
        continue;
      if (first > last) first = last = low;
      while (last <= high) weight[last++] = T(0);
      weight[low] += T(1) - part;
      weight[high] += part;
    }
    to->first[b] = first > last ? 0 : first;
    to->last[b] = first > last ? 0 : last;
  }
}

// The weights of region r; returns the number of samples of a bin.
template <typename T>
CYNET_XINLINE T region_weights(const RoiAlignShape& s, const T* roi, RegionSpace<T>* space) {
  const T scale = static_cast<T>(s.scale), shift = s.aligned ? T(.5) : T(0);
  T start[2], length[2];
  int64_t samples[2];
  for (int a = 0; a < 2; ++a) {  // y, then x
    start[a] = roi[2 - a] * scale - shift;
    length[a] = roi[4 - a] * scale - shift - start[a];
    if (!s.aligned && length[a] < T(1)) length[a] = T(1);
    const T each = length[a] / static_cast<T>(s.pooled[a]);
    samples[a] = s.ratio > 0 ? s.ratio : static_cast<int64_t>(std::ceil(each));
    if (samples[a] < 1) samples[a] = 1;
    bin_weights(start[a], each, samples[a], s.pooled[a], a ? s.width : s.height,
                a ? &space->x : &space->y);
  }
  return static_cast<T>(samples[0]) * static_cast<T>(samples[1]);
}

// sums[x] = the rows of bin row i, weighted, for x of [x0, x1)
template <typename T>
CYNET_XINLINE void weighted_rows(const RoiAlignShape& s, const BinWeights<T>& y, int64_t i,
                                 const T* plane, int64_t x0, int64_t x1, T* sums) {
  for (int64_t x = x0; x < x1; ++x) sums[x] = T(0);
  for (int64_t h = y.first[i]; h < y.last[i]; ++h) {
    const T weight = y.weight[i * s.height + h];
    const T* row = plane + h * s.width;
    CYNET_IVDEP
    for (int64_t x = x0; x < x1; ++x) sums[x] += weight * row[x];
  }
}

template <typename T>
void align_region(const RoiAlignShape& s, const T* data, const T* rois, T* out, bool add, int64_t r,
                  int64_t c0, int64_t c1, char* room) {
  RegionSpace<T> space(s, room);
  const T* roi = rois + r * 5;
  const int64_t image = image_of(roi), bins = s.pooled[0] * s.pooled[1], plane = s.height * s.width;
  const int64_t each = s.position_sensitive ? s.channels / bins : s.channels;
  T* y = out + (r * each + c0) * bins;
  if (image < 0) {
    for (int64_t k = 0; k < (c1 - c0) * bins; ++k) put(y + k, T(0), add);
    return;
  }
  const T count = region_weights(s, roi, &space);
  int64_t x0 = s.width, x1 = 0;
  for (int64_t j = 0; j < s.pooled[1]; ++j) {
    if (space.x.first[j] == space.x.last[j]) continue;
    x0 = space.x.first[j] < x0 ? space.x.first[j] : x0;
    x1 = space.x.last[j] > x1 ? space.x.last[j] : x1;
  }
  for (int64_t c = c0; c < c1; ++c)
    for (int64_t i = 0; i < s.pooled[0]; ++i) {
      const T* from = data + (image * s.channels + c) * plane;
      if (!s.position_sensitive) weighted_rows(s, space.y, i, from, x0, x1, space.sums);
      for (int64_t j = 0; j < s.pooled[1]; ++j) {
        const int64_t first = space.x.first[j], last = space.x.last[j];
        if (s.position_sensitive) {
          from = data + (image * s.channels + c * bins + i * s.pooled[1] + j) * plane;
          weighted_rows(s, space.y, i, from, first, last, space.sums);
        }
        T total = T(0);
        for (int64_t x = first; x < last; ++x)
          total += space.x.weight[j * s.width + x] * space.sums[x];
        put(y++, total / count, add);
      }
    }
}

// The gradient of a row of bins spread over the rows that they read.
template <typename T>
CYNET_XINLINE void spread_rows(const RoiAlignShape& s, const BinWeights<T>& y, int64_t i, T* plane,
                               int64_t x0, int64_t x1, const T* sums) {
  for (int64_t h = y.first[i]; h < y.last[i]; ++h) {
    const T weight = y.weight[i * s.height + h];
    T* row = plane + h * s.width;
    CYNET_IVDEP
    for (int64_t x = x0; x < x1; ++x) row[x] += weight * sums[x];
  }
}

template <typename T>
void align_region_backward(const RoiAlignShape& s, const T* rois, const T* dy, T* dx, int64_t r,
                           int64_t c0, int64_t c1, char* room) {
  RegionSpace<T> space(s, room);
  const T* roi = rois + r * 5;
  const int64_t image = image_of(roi), bins = s.pooled[0] * s.pooled[1], plane = s.height * s.width;
  const int64_t each = s.position_sensitive ? s.channels / bins : s.channels;
  const T count = region_weights(s, roi, &space);
  const T* g = dy + (r * each + c0) * bins;
  int64_t x0 = s.width, x1 = 0;
  for (int64_t j = 0; j < s.pooled[1]; ++j) {
    if (space.x.first[j] == space.x.last[j]) continue;
    x0 = space.x.first[j] < x0 ? space.x.first[j] : x0;
    x1 = space.x.last[j] > x1 ? space.x.last[j] : x1;
  }
  for (int64_t c = c0; c < c1; ++c)
    for (int64_t i = 0; i < s.pooled[0]; ++i) {
      T* to = dx + (image * s.channels + c) * plane;
      if (!s.position_sensitive)
        for (int64_t x = x0; x < x1; ++x) space.sums[x] = T(0);
      for (int64_t j = 0; j < s.pooled[1]; ++j) {
        const int64_t first = space.x.first[j], last = space.x.last[j];
        const T each_sample = *g++ / count;
        const T* weight = space.x.weight + j * s.width;
        if (!s.position_sensitive) {
          for (int64_t x = first; x < last; ++x) space.sums[x] += weight[x] * each_sample;
          continue;
        }
        to = dx + (image * s.channels + c * bins + i * s.pooled[1] + j) * plane;
        for (int64_t x = first; x < last; ++x) space.sums[x] = weight[x] * each_sample;
        spread_rows(s, space.y, i, to, first, last, space.sums);
      }
      if (!s.position_sensitive) spread_rows(s, space.y, i, to, x0, x1, space.sums);
    }
}
