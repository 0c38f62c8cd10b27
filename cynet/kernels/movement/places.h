// Places in an array as one number and as one number an axis; what is put at places.
#ifndef CYNET_PLACES_H
#define CYNET_PLACES_H

#include "common/by_dtype.h"
#include "parallel.h"

namespace cynet {

struct Axes {
  int ndim;
  int64_t shape[8];
};

// out[j] (+)= the row-major place of column j of index (ndim, n); the first length does not matter
inline void ravel_places(int dtype, int threads, const Axes& axes, int64_t n, const void* index_,
                         void* out_, bool add) {
  by_dtype(dtype, [=, &axes](auto zero) {
    typedef decltype(zero) T;
    const T* index = static_cast<const T*>(index_);
    T* out = static_cast<T*>(out_);
    parallel_for(threads, n, [=, &axes](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        uint64_t at = 0;
        for (int i = 0; i < axes.ndim; ++i)
          at = at * static_cast<uint64_t>(axes.shape[i]) +
               static_cast<uint64_t>(convert_one<int64_t>(index[i * n + j]));
        const T made = convert_one<T>(static_cast<int64_t>(at));
        if (add) add_element(out + j, made);
        else out[j] = made;
      }
    });
  });
}

// column j of out (ndim, n) (+)= the place of index[j] along each axis; what is beyond the shape is
// left to the first axis
inline void unravel_places(int dtype, int threads, const Axes& axes, int64_t n, const void* index_,
                           void* out_, bool add) {
  by_dtype(dtype, [=, &axes](auto zero) {
    typedef decltype(zero) T;
    const T* index = static_cast<const T*>(index_);
    T* out = static_cast<T*>(out_);
    parallel_for(threads, n, [=, &axes](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        int64_t at = convert_one<int64_t>(index[j]);
        for (int i = axes.ndim - 1; i >= 0; --i) {
          const T made = convert_one<T>(i ? at % axes.shape[i] : at);
          if (add) add_element(out + i * n + j, made);
          else out[i * n + j] = made;
          if (i) at /= axes.shape[i];
        }
      }
    });
  });
}

}  // namespace cynet

#endif
