// Deformable convolution: windows read at shifted positions, unrolled for a matrix product, and the
// gradients from the unrolled gradient. deformable.pxd describes the parameters.
#ifndef CYNET_VISION_DEFORMABLE_H
#define CYNET_VISION_DEFORMABLE_H

#include "vision/bilinear.h"

namespace cynet {

struct DeformShape {  // sizes of a deformable convolution
  int64_t batch, channels, filters, groups, offset_groups;
  int64_t in_size[2], out_size[2], kernel[2], stride[2], pad[2], dilate[2];
  bool holds;  // outside: HOLDS, else FADES
  int64_t in_space, out_space, taps, tile;
};

// A tile of one image: positions [first, first + n) of the output.
template <typename T>
struct DeformTile {  // output positions that are computed together
  const T* data;  // data of the image: (channels, in_size)
  const T* offset;  // (offset_groups, taps, 2, out_space)
  const T* mask;  // (offset_groups, taps, out_space), or NULL
  T* columns;  // (channels, taps, n)
  int64_t first, n;
};

}  // namespace cynet

#define CYNET_PER_ISA_FILE "vision/deformable_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

inline int64_t deform_block_count(int64_t n) { return (n + POINTS - 1) / POINTS; }

// columns = the samples of all channels, times the mask
template <typename T>
void deform_sample_columns(int threads, int level, const DeformShape* s, const T* data,
                           const T* offset, const T* mask, T* columns, int64_t first, int64_t n) {
  typedef void (*Loop)(const DeformShape&, const DeformTile<T>&, int64_t, int64_t);
  static const Loop fading[] = CYNET_AT_LEVELS(sample_to_columns<T, FADES>);
  static const Loop holding[] = CYNET_AT_LEVELS(sample_to_columns<T, HOLDS>);
  const DeformTile<T> tile = {data, offset, mask, columns, first, n};
  const Loop loop = (s->holds ? holding : fading)[level];
  const int64_t blocks = deform_block_count(n);
  parallel_for(threads, s->offset_groups * s->taps * blocks, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) loop(*s, tile, k / blocks, k % blocks * POINTS);
  });
}

// dx (channels, in_size) += the gradient of the columns, `tile.columns`
template <typename T>
void deform_data_grad(int threads, int level, const DeformShape* s, const T* offset, const T* mask,
                      const T* columns, int64_t first, int64_t n, T* dx) {
  typedef void (*Loop)(const DeformShape&, const DeformTile<T>&, T*, int64_t, int64_t);
  static const Loop fading[] = CYNET_AT_LEVELS(add_channel_gradients<T, FADES>);
  static const Loop holding[] = CYNET_AT_LEVELS(add_channel_gradients<T, HOLDS>);
  const DeformTile<T> tile = {nullptr, offset, mask, const_cast<T*>(columns), first, n};
  const Loop loop = (s->holds ? holding : fading)[level];
  const int64_t each = s->channels / s->offset_groups;
  parallel_for(threads, s->channels, [&](int64_t begin, int64_t end) {
    for_images(begin, end, each, [&](int64_t group, int64_t c0, int64_t c1) {
      loop(*s, tile, dx, group * each + c0, group * each + c1);
    });
  });
}

// doffset and dmask (or NULL) (+)= the gradients of sample positions and of mask factors
template <typename T>
void deform_offset_grad(int threads, int level, const DeformShape* s, const T* data,
                        const T* offset, const T* mask, const T* columns, int64_t first, int64_t n,
                        T* doffset, T* dmask, bool add_offset, bool add_mask) {
  typedef void (*Loop)(const DeformShape&, const DeformTile<T>&, T*, T*, bool, bool, int64_t,
                       int64_t);
  static const Loop fading[] = CYNET_AT_LEVELS(fill_offset_grad_block<T, FADES>);
  static const Loop holding[] = CYNET_AT_LEVELS(fill_offset_grad_block<T, HOLDS>);
  const DeformTile<T> tile = {data, offset, mask, const_cast<T*>(columns), first, n};
  const Loop loop = (s->holds ? holding : fading)[level];
  const int64_t blocks = deform_block_count(n);
  parallel_for(threads, s->offset_groups * s->taps * blocks, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k)
      loop(*s, tile, doffset, dmask, add_offset, add_mask, k / blocks, k % blocks * POINTS);
  });
}

}  // namespace cynet

#endif
