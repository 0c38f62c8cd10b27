// BilinearSampler: data read at the points of a grid, and both gradients. Included by sampler.pyx,
// sampler.pxd declares the struct.
#ifndef CYNET_VISION_SAMPLER_H
#define CYNET_VISION_SAMPLER_H

#include "vision/bilinear.h"

namespace cynet {

struct SamplerShape {
  int64_t batch, channels, height, width, points;  // data (batch, channels, height, width)
};

}  // namespace cynet

#define CYNET_LOOPS "vision/sampler_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

struct Sample {
  template <typename T>
  static void run(int threads, int level, const SamplerShape* s, const void* data, const void* grid,
                  void* out, bool add) {
    typedef void (*Loop)(const SamplerShape&, const T*, const T*, T*, bool, int64_t);
    static const Loop loops[] = CYNET_AT_LEVELS(sample_block<T>);
    const int64_t blocks = (s->points + POINTS - 1) / POINTS;
    parallel_for(threads, s->batch * blocks, [=](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block)
        loops[level](*s, static_cast<const T*>(data), static_cast<const T*>(grid),
                     static_cast<T*>(out), add, block);
    });
  }
};

struct SampleData {
  template <typename T>
  static void run(int threads, int level, const SamplerShape* s, const void* grid, const void* dy,
                  void* dx, bool add) {
    typedef void (*Loop)(const SamplerShape&, const T*, const T*, T*, bool, int64_t, int64_t,
                         int64_t);
    static const Loop loops[] = CYNET_AT_LEVELS(sample_data_planes<T>);
    parallel_for(threads, s->batch * s->channels, [=](int64_t begin, int64_t end) {
      by_image(begin, end, s->channels, [=](int64_t image, int64_t first, int64_t last) {
        loops[level](*s, static_cast<const T*>(grid), static_cast<const T*>(dy),
                     static_cast<T*>(dx), add, image, first, last);
      });
    });
  }
};

struct SampleGrid {
  template <typename T>
  static void run(int threads, int level, const SamplerShape* s, const void* data, const void* grid,
                  const void* dy, void* dgrid, bool add) {
    typedef void (*Loop)(const SamplerShape&, const T*, const T*, const T*, T*, bool, int64_t);
    static const Loop loops[] = CYNET_AT_LEVELS(sample_grid_block<T>);
    const int64_t blocks = (s->points + POINTS - 1) / POINTS;
    parallel_for(threads, s->batch * blocks, [=](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block)
        loops[level](*s, static_cast<const T*>(data), static_cast<const T*>(grid),
                     static_cast<const T*>(dy), static_cast<T*>(dgrid), add, block);
    });
  }
};

inline void sample_all(int threads, int level, int dtype, const SamplerShape* s, const void* data,
                       const void* grid, void* out, bool add) {
  by_float<Sample>(dtype, threads, level, s, data, grid, out, add);
}
inline void sample_data_all(int threads, int level, int dtype, const SamplerShape* s,
                            const void* grid, const void* dy, void* dx, bool add) {
  by_float<SampleData>(dtype, threads, level, s, grid, dy, dx, add);
}
inline void sample_grid_all(int threads, int level, int dtype, const SamplerShape* s,
                            const void* data, const void* grid, const void* dy, void* dgrid,
                            bool add) {
  by_float<SampleGrid>(dtype, threads, level, s, data, grid, dy, dgrid, add);
}

}  // namespace cynet

#endif
