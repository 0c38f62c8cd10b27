// Converts between flat indices and indices along each axis.
#include "common/by_dtype.h"
#include "kernel.h"

namespace cynet {
#define AXES_FIELDS(field) field(int, ndim) field(Int64s<8>, shape)
CYNET_PARAMS(Axes, AXES_FIELDS)
#define REQUESTED_AXES_FIELDS(field) \
  field(int, ndim) field(Int64s<8>, shape) field(int, n_requested) field(Int64s<64>, requested)
CYNET_PARAMS(RequestedAxes, REQUESTED_AXES_FIELDS)

template <typename T>
static void put_index(T* to, int64_t index, bool add) {
  if (add) add_element(to, convert_one<T>(index));
  else *to = convert_one<T>(index);
}

// out[j] (+)= the flat index of column j of index (ndim, n); the first length does not matter
template <typename T>
static void ravel_index(const Args& args) {
  const Axes axes = args.as<Axes>();
  const int64_t n = args.out[0]->size;
  const T* index = args.input<T>(0);
  T* out = args.output<T>(0);
  const bool add = args.add[0];
  parallel_for(args.threads, n, [=](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      uint64_t at = 0;
      for (int i = 0; i < axes.ndim; ++i)
        at = at * static_cast<uint64_t>(axes.shape[i]) +
             static_cast<uint64_t>(convert_one<int64_t>(index[i * n + j]));
      put_index(out + j, static_cast<int64_t>(at), add);
    }
  });
}

// Divides `at` by n and returns the remainder. Small numbers are divided with 32 bits, which takes
// a third of the time on many processors.
static inline int64_t split_off_remainder(int64_t& at, int64_t n) {
  if (((at | n) >> 32) == 0) {
    const uint32_t whole = static_cast<uint32_t>(at), by = static_cast<uint32_t>(n);
    at = whole / by;
    return whole % by;
  }
  const int64_t whole = at;
  at = whole / n;
  return whole % n;
}

// column j of out (ndim, n) (+)= the position of index[j] along each axis; an excess over the shape
// goes to the first axis
template <typename T>
static void unravel_index(const Args& args) {
  const Axes axes = args.as<Axes>();
  const int64_t n = args.in[0]->size;
  const T* index = args.input<T>(0);
  T* out = args.output<T>(0);
  const bool add = args.add[0];
  parallel_for(args.threads, n, [=](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j) {
      int64_t at = convert_one<int64_t>(index[j]);
      for (int i = axes.ndim - 1; i > 0; --i) {
        put_index(out + i * n + j, split_off_remainder(at, axes.shape[i]), add);
      }
      if (axes.ndim) put_index(out + j, at, add);
    }
  });
}

// out (elements, n_requested) (+)= the position of each element along the requested axes
template <typename T>
static void index_array(const Args& args) {
  const RequestedAxes& axes = args.as<RequestedAxes>();
  T* out = args.output<T>(0);
  const bool add = args.add[0];
  const int n_requested = axes.n_requested, last = axes.ndim - 1;
  parallel_for(args.threads, args.in[0]->size, [=, &axes](int64_t begin, int64_t end) {
    int64_t position[8] = {}, at = begin;
    for (int i = last; i >= 0; --i) position[i] = split_off_remainder(at, axes.shape[i]);
    for (int64_t j = begin; j < end; ++j) {
      T* to = out + j * n_requested;
      for (int k = 0; k < n_requested; ++k) to[k] = (add ? to[k] : 0) + position[axes.requested[k]];
      for (int i = last; i >= 0 && ++position[i] == axes.shape[i]; --i) position[i] = 0;
    }
  });
}
}  // namespace cynet

CYNET_PLAIN_KERNEL(ravel_index, Axes, 4, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(unravel_index, Axes, 4, CYNET_NUMBERS)
CYNET_PLAIN_KERNEL(index_array, RequestedAxes, 1, int64_t)
