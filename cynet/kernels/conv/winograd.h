// Convolutions by Winograd's algorithms F(4x4, 2x2), F(4x4, 3x3), F(3x3, 4x4) and F(2x2, 5x5),
// which need fewer multiplications: 2x2 to 5x5 windows with stride 1, 3x3 to 8x8 with stride 2.
//
// A tile of 4x4, 3x3 or 2x2 outputs is A^T [(G w G^T) * (B^T x B)] A of a tile of 6x6 inputs (Lavin
// and Gray, "Fast algorithms for convolutional neural networks", 2015): 36 products instead of 144
// (4x4 outputs of 3x3 taps, 3x3 of 4x4) or 100 (2x2 of 5x5). The points of evaluation are 0, +-5/8,
// +-3/2 and infinity. With them all matrices but G's scale are exact in float32, and the error is
// about twice that of a direct sum, a fifth of that of 0, +-1, +-2. B is the same for all. F(4x4,
// 2x2) leaves out the point 0: 25 products instead of 64.
//
// With stride 2 each pixel of x belongs to one of four phases, by the parity of its row and column,
// and each tap of w meets one phase. So the convolution is a sum of four convolutions with stride 1
// and half the window. Phases are read and written in place.
//
// The gradients are the transposed maps. The gradient of x is the same algorithm with w rotated by
// 180 degrees and inputs and outputs exchanged. Where x is larger than y it is made from tiles of
// dy instead, which are fewer: the sum of B [(G w G^T) * (A dy A^T)] B^T over tiles that overlap.
// The gradient of w is G^T [sum over tiles of (B^T x B) * (A dy A^T)] G.
#ifndef CYNET_WINOGRAD_H
#define CYNET_WINOGRAD_H

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "common/half.h"
#include "isa/levels.h"
#include "parallel.h"
#include "conv/winograd_sizes.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

#if defined(__aarch64__)
#define WINOGRAD_REGISTERS 32  // vector registers of the CPU
#else
#define WINOGRAD_REGISTERS 16  // vector registers of the CPU
#endif

namespace cynet {

namespace winograd {

// Powers of the points, and scales of G: 1 / (A2 B2), 1 / (2 A2 (A2 - B2)), 1 / (2 B2 (B2 - A2)).
constexpr float A1 = 0.625f, A2 = A1 * A1, A3 = A2 * A1, A4 = A3 * A1;  // powers of the first point
constexpr float B1 = 1.5f, B2 = B1 * B1, B3 = B2 * B1, B4 = B3 * B1;  // powers of the second point
constexpr float G0 = static_cast<float>(1 / (double(A2) * B2));  // scale of G's row for 0
constexpr float GA = static_cast<float>(0.5 / (double(A2) * (double(A2) - B2)));  // G's rows for A1
constexpr float GB = static_cast<float>(0.5 / (double(B2) * (double(B2) - A2)));  // G's rows for B1

// y = relu(sum + bias + y); each part is optional.
struct Epilogue {  // what follows the sums
  const float* bias;
  bool relu, add;
};

struct WinogradProblem {
  Image from, to;
  int64_t pad_h, pad_w;
  Epilogue finish;
  const float* x;
  float* y;
};

// The use of a workspace: forward, forward with packed weights, or both gradients.
enum WorkspaceUse { FORWARD = 0, BACKWARD = 1, PACKED = 2 };

// The functions of one form of the loops; documented below.
struct WinogradFunctions {
  int64_t (*scratch_floats)(const WinogradShape&, int threads, WorkspaceUse);
  int64_t (*packed_size)(const WinogradShape&);
  void (*pack_weights)(const WinogradShape&, const float* w, int threads, float* u);
  void (*forward)(const WinogradShape&, const float* x, const float* w, bool packed,
                  const Epilogue&, float* y, int threads, float* space);
  void (*backward_data)(const WinogradShape&, const float* w, const float* dy, float* dx, bool add,
                        int threads, float* space);
  void (*backward_weight)(const WinogradShape&, const float* x, const float* dy, float* dw,
                          bool add, int threads, float* space);
};

}  // namespace winograd
}  // namespace cynet

#define CYNET_PER_ISA_FILE "isa/simd.h"
#include "isa/for_each_isa.h"
#define CYNET_PER_ISA_FILE "conv/winograd_forms.h"
#include "isa/for_each_isa.h"

namespace cynet {

// The loops of a form (see choose_form).
inline const winograd::WinogradFunctions& winograd_functions(int form) {
#if WINOGRAD_REGISTERS == 32
  static constexpr const winograd::WinogradFunctions* table[] = {
      &baseline::by_row::WINOGRAD_FUNCTIONS};
#elif defined(CYNET_X86_LEVELS)
  static constexpr const winograd::WinogradFunctions* table[] = {
      &baseline::by_position::WINOGRAD_FUNCTIONS, &avx2::by_position::WINOGRAD_FUNCTIONS,
      &avx512::by_position::WINOGRAD_FUNCTIONS, &avx512::by_position::WINOGRAD_FUNCTIONS,
      &avx512::by_row::WINOGRAD_FUNCTIONS};
#else
  static constexpr const winograd::WinogradFunctions* table[] = {
      &baseline::by_position::WINOGRAD_FUNCTIONS};
#endif
  return *table[form];
}

// Bytes of workspace, which must be aligned to 64.
inline size_t winograd_workspace_bytes(int form, const WinogradShape& shape, int threads,
                                       winograd::WorkspaceUse stage) {
  return winograd_functions(form).scratch_floats(shape, threads, stage) * sizeof(float);
}

// Floats of packed weights.
inline int64_t winograd_packed_size(int form, const WinogradShape& shape) {
  return winograd_functions(form).packed_size(shape);
}

// Packs weights for forward in this form; `to` must be aligned to 64.
inline void winograd_pack_w(int form, const WinogradShape& shape, const float* w, int threads,
                            float* packed) {
  winograd_functions(form).pack_weights(shape, w, threads, packed);
}

// y = relu(x * w + bias + y): `bias` may be NULL, `relu` and `add` (of y) false.
inline void winograd_forward(int form, const WinogradShape& shape, const float* x, const float* w,
                             bool packed, const float* bias, bool relu, float* y, bool add,
                             int threads, char* space) {
  winograd_functions(form).forward(shape, x, w, packed, {bias, relu, add}, y, threads,
                                   reinterpret_cast<float*>(space));
}

// dx = gradient of x, or dx += with `add`.
inline void winograd_backward_data(int form, const WinogradShape& shape, const float* w,
                                   const float* dy, float* dx, bool add, int threads, char* space) {
  winograd_functions(form).backward_data(shape, w, dy, dx, add, threads,
                                         reinterpret_cast<float*>(space));
}

// dw = gradient of w, or dw += if `add`. Sums of threads are added in their order.
inline void winograd_backward_weight(int form, const WinogradShape& shape, const float* x,
                                     const float* dy, float* dw, bool add, int threads,
                                     char* space) {
  winograd_functions(form).backward_weight(shape, x, dy, dw, add, threads,
                                           reinterpret_cast<float*>(space));
}

}  // namespace cynet

#endif
