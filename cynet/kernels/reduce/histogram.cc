// Histograms: counts numbers between edges; the last interval includes its upper edge.
#include <algorithm>
#include <cstring>

#include "elementwise/convert.h"
#include "kernel.h"

namespace cynet {
#define HISTOGRAM_FIELDS(field) field(bool, even) field(double, low) field(double, high)
CYNET_PARAMS(Histogram, HISTOGRAM_FIELDS)

namespace {
// edges[i] of `bins` intervals of one width from low to high: NumPy's linspace, bit for bit
template <typename E>
void make_even_edges(int64_t bins, double low, double high, E* edges) {
  const double width = high - low, parts = static_cast<double>(bins), step = width / parts;
  for (int64_t i = 0; i <= bins; ++i) {
    const double at = static_cast<double>(i);
    const volatile double offset = step != 0 ? at * step : at / parts * width;  // rounded by itself
    edges[i] = convert_one<E>(i == bins ? high : low + offset);
  }
}

// The index of the first edge that is NaN or below its predecessor, or -1.
template <typename T>
int64_t first_falling_edge(const T* edges, int64_t n) {
  for (int64_t i = 1; i < n; ++i)
    if (!(convert_one<double>(edges[i]) >= convert_one<double>(edges[i - 1]))) return i;
  return -1;
}

template <typename T, typename E>
void count_into_bins(const T* x, int64_t n, bool even, const E* edges, int64_t bins,
                     int64_t* counts) {
  auto edge = [=](int64_t i) { return convert_one<double>(edges[i]); };
  const double low = edge(0), high = edge(bins), scale = static_cast<double>(bins) / (high - low);
  for (int64_t k = 0; k < n; ++k) {
    const double value = convert_one<double>(x[k]);
    if (!(value >= low && value <= high)) continue;
    int64_t i;
    if (even && high > low) {  // estimate the bin, then compare to the exact edges
      i = std::min(static_cast<int64_t>((value - low) * scale), bins - 1);
      while (i > 0 && value < edge(i)) --i;
      while (i < bins - 1 && value >= edge(i + 1)) ++i;
    } else {  // find the last edge that is not above the value
      int64_t first = 0, last = bins;
      while (first < last) {
        const int64_t middle = (first + last + 1) / 2;
        if (edge(middle) <= value) first = middle;
        else last = middle - 1;
      }
      i = std::min(first, bins - 1);
    }
    ++counts[i];
  }
}

// out[0] = counts of in[0] between the edges out[1]: even ones, or a copy of in[1]
template <typename T, typename E>
void fill_histogram(const Args& args, E* edges) {
  const Histogram& p = args.as<Histogram>();
  const int64_t bins = args.out[0]->size;
  int64_t* counts = args.output<int64_t>(0);
  if (p.even) make_even_edges(bins, p.low, p.high, edges);
  std::memset(counts, 0, bins * sizeof(int64_t));
  count_into_bins(args.input<T>(0), args.in[0]->size, p.even, edges, bins, counts);
}

template <typename T>
void histogram(const Args& args) {
  T* edges = args.output<T>(1);
  if (args.out[1]->dtype != args.in[0]->dtype)  // even edges of integers are doubles
    return fill_histogram<T>(args, args.output<double>(1));
  if (!args.as<Histogram>().even) {
    const int64_t n = args.in[1]->size, bad = first_falling_edge(args.input<T>(1), n);
    if (bad >= 0) return args.fail(bad);
    std::memcpy(edges, args.in[1]->data, n * sizeof(T));
  }
  fill_histogram<T>(args, edges);
}
}  // namespace
}  // namespace cynet

CYNET_PLAIN_KERNEL(histogram, Histogram, 1, CYNET_NUMBERS)
