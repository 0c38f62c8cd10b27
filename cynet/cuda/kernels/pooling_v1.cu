// Pooling_v1: windows over planes padded with zeros, which count as data; a thread for each element
// of the result.
#include "common.cuh"

struct PaddedWindow {  // sizes of a pooling
  Index planes;  // batch times channels
  int maximum;  // 1: the maximum of a window; 0: its sum / divisor
  double divisor;
  int size[2], out[2], kernel[2], stride[2], pad[2];
};

// y (+)= each window of x. The maximum of a window of padding alone is that of an empty window.
template <typename T>
__global__ void pool_v1(const T* x, T* y, const PaddedWindow s, int add) {
  typedef opmath_t<T> C;
  CYNET_FOR(i, s.planes * s.out[0] * s.out[1]) {
    const Index across = s.out[1], down = s.out[0];
    const Index at[2] = {i / across % down, i % across};
    Index from[2], to[2];
    bool zeros = false, nothing = false;
    for (int k = 0; k < 2; ++k) {
      const Index begin = at[k] * s.stride[k] - s.pad[k], maximum = Index(s.size[k]) + s.pad[k];
      const Index end = begin + s.kernel[k] < maximum ? begin + s.kernel[k] : maximum;
      from[k] = begin > 0 ? begin : 0;
      to[k] = end < s.size[k] ? end : s.size[k];
      zeros = zeros || begin < from[k] || end > to[k];
      nothing = nothing || begin >= end;
    }
    const T* plane = x + i / across / down * s.size[0] * s.size[1];
    C value = s.maximum && (nothing || !zeros) ? static_cast<C>(-INFINITY) : 0;
    for (Index h = from[0]; h < to[0]; ++h)
      for (Index w = from[1]; w < to[1]; ++w) {
        const C element = load(plane, h * s.size[1] + w);
        if (!s.maximum) value += element;
        else if (element > value || element != element) value = element;
      }
    store(y, i, value / static_cast<C>(s.divisor), add);
  }
}

// dx (+)= the gradient, gathered from the windows that an element lies in; each element that equals
// its window's maximum gets it.
template <typename T>
__global__ void pool_v1_grad(const T* dy, const T* x, const T* y, T* dx, const PaddedWindow s,
                             int add) {
  typedef opmath_t<T> C;
  CYNET_FOR(i, s.planes * s.size[0] * s.size[1]) {
    const Index width = s.size[1], height = s.size[0];
    const Index place[2] = {i / width % height + s.pad[0], i % width + s.pad[1]};
    const Index plane = i / width / height;
    Index first[2], last[2];
    for (int k = 0; k < 2; ++k) {
      first[k] = place[k] < s.kernel[k] ? 0 : (place[k] - s.kernel[k]) / s.stride[k] + 1;
      last[k] = place[k] / s.stride[k] < s.out[k] ? place[k] / s.stride[k] : s.out[k] - 1;
    }
    C sum = 0;
    for (Index h = first[0]; h <= last[0]; ++h)
      for (Index w = first[1]; w <= last[1]; ++w) {
        const Index from = (plane * s.out[0] + h) * s.out[1] + w;
        if (!s.maximum || load(x, i) == load(y, from)) sum += load(dy, from);
      }
    store(dx, i, sum / static_cast<C>(s.divisor), add);
  }
}
