// Drives the loops of elementwise.h over whole arrays: conversion for types without a loop of their
// own, broadcasting over collapsed axes, threads. Included by
// elementwise.pyx and fused_broadcast.h.
//
// Conversion goes in chunks that stay in the first-level cache.
#ifndef CYNET_DRIVE_H
#define CYNET_DRIVE_H

#include "threading/clock.h"
#include "elementwise/convert.h"
#include "elementwise/elementwise.h"
#include "parallel.h"

#ifdef CYNET_X86_LEVELS
#include <immintrin.h>
#endif

#define CYNET_PER_ISA_FILE "elementwise/convert_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

// The CPU level of this module's conversions; the module sets it at import.
static int convert_level = BASELINE;
static inline void set_convert_level(int level) { convert_level = level; }

// ----- conversion of n elements of one dtype to another
typedef void (*ConvertLoop)(const void* src, void* dst, int64_t n);

template <typename From, typename To>
void convert_loop(const void* src, void* dst, int64_t n) {
  static const ConvertLoop loops[] = CYNET_AT_LEVELS(convert_run<From, To>);
  loops[convert_level](src, dst, n);
}

template <typename From>
void convert_from(int to, const void* src, void* dst, int64_t n) {
  switch (to) {
    case F32: return convert_loop<From, float>(src, dst, n);
    case F64: return convert_loop<From, double>(src, dst, n);
    case F16: return convert_loop<From, half>(src, dst, n);
    case U8: return convert_loop<From, uint8_t>(src, dst, n);
    case I32: return convert_loop<From, int32_t>(src, dst, n);
    case I8: return convert_loop<From, int8_t>(src, dst, n);
    case I64: return convert_loop<From, int64_t>(src, dst, n);
    case BF16: return convert_loop<From, bfloat16>(src, dst, n);
    case BOOL: return convert_loop<From, bool>(src, dst, n);
  }
}

void convert(int from, int to, const void* src, void* dst, int64_t n) {
  switch (from) {
    case F32: return convert_from<float>(to, src, dst, n);
    case F64: return convert_from<double>(to, src, dst, n);
    case F16: return convert_from<half>(to, src, dst, n);
    case U8: return convert_from<uint8_t>(to, src, dst, n);
    case I32: return convert_from<int32_t>(to, src, dst, n);
    case I8: return convert_from<int8_t>(to, src, dst, n);
    case I64: return convert_from<int64_t>(to, src, dst, n);
    case BF16: return convert_from<bfloat16>(to, src, dst, n);
    case BOOL: return convert_from<uint8_t>(to, src, dst, n);
  }
}

enum { CHUNK = 1024 };
// Bits of a kernel's `add`: it adds to the output; a repeated operand is a number in the loop's
// type, which may not fit the arrays' type, and the loop is then one that writes. With MIXED each
// operand has a dtype of its own, in 4 bits from bit 8 on; a repeated number is in the loop's type,
// and `dtype` is that of the output alone.
enum { ADDS = 1, NUMBER_IS_WIDE = 2, MIXED = 4 };

// The dtype of an operand.
inline int operand_dtype(const Kernel& k, int operand) {
  return k.add & MIXED ? k.add >> (8 + 4 * operand) & 15 : k.dtype;
}
inline int64_t operand_size(const Kernel& k, int operand) {
  return element_size(operand_dtype(k, operand));
}

struct ChunkBuffer {  // a chunk of converted elements
  alignas(64) char bytes[CHUNK * 8];
};

// A run of an operand in dtype `compute`: its memory if that is its dtype, else a converted copy.
inline const void* load_converted(const Kernel& k, int operand, const void* data, int stride,
                                  int64_t n, ChunkBuffer* chunk) {
  const int dtype = operand_dtype(k, operand), from = dtype == BOOL ? static_cast<int>(U8) : dtype;
  if (from == k.compute || (!stride && (k.add & NUMBER_IS_WIDE))) return data;
  convert(from, k.compute, data, chunk->bytes, stride ? n : 1);
  return chunk->bytes;
}

inline const char* ptr_at(const void* data, int64_t index, int64_t size) {
  return static_cast<const char*>(data) + index * size;
}
inline char* ptr_at(void* data, int64_t index, int64_t size) {
  return static_cast<char*>(data) + index * size;
}

template <typename T>
inline void add_integers(const void* x_, void* out_, int64_t n) {
  const T* x = static_cast<const T*>(x_);
  T* out = static_cast<T*>(out_);
  for (int64_t i = 0; i < n; ++i) out[i] = sum_of(out[i], x[i]);
}

inline void add_integers(int dtype, const void* x, void* out, int64_t n) {
  switch (dtype) {
    case U8: return add_integers<uint8_t>(x, out, n);
    case I8: return add_integers<int8_t>(x, out, n);
    case I32: return add_integers<int32_t>(x, out, n);
    case I64: return add_integers<int64_t>(x, out, n);
  }
}

// Calls run(out, offset, n) over [0, n) in chunks, and converts the output when types differ, as
// for sums of bool in uint8.
template <class Run>
inline void run_and_convert_output(const Kernel& k, void* out, int64_t n, Run&& run) {
  const int to = k.dtype;
  const int64_t size = element_size(to);
  if (to == k.compute || (to == BOOL && k.compute == U8 && !(k.add & ADDS))) {
    const int64_t each = k.add & MIXED ? static_cast<int64_t>(CHUNK) : n;
    for (int64_t i = 0; i < n; i += each) run(ptr_at(out, i, size), i, n - i < each ? n - i : each);
    return;
  }
  ChunkBuffer chunk;
  if (k.add == (ADDS | NUMBER_IS_WIDE)) {  // integers are added in the output's dtype
    ChunkBuffer narrow;
    for (int64_t i = 0; i < n; i += CHUNK) {
      const int64_t m = n - i < CHUNK ? n - i : static_cast<int64_t>(CHUNK);
      run(static_cast<void*>(chunk.bytes), i, m);
      convert(k.compute, to, chunk.bytes, narrow.bytes, m);
      add_integers(to, narrow.bytes, ptr_at(out, i, size), m);
    }
    return;
  }
  for (int64_t i = 0; i < n; i += CHUNK) {
    const int64_t m = n - i < CHUNK ? n - i : static_cast<int64_t>(CHUNK);
    if (k.add & ADDS) convert(to, k.compute, ptr_at(out, i, size), chunk.bytes, m);
    run(static_cast<void*>(chunk.bytes), i, m);
    convert(k.compute, to, chunk.bytes, ptr_at(out, i, size), m);
  }
}

inline void run_unary(const Kernel& k, const void* x, void* out, int64_t n) {
  const int64_t size = operand_size(k, 0);
  run_and_convert_output(k, out, n, [&](void* to, int64_t i, int64_t m) {
    ChunkBuffer chunk;
    reinterpret_cast<UnaryLoop>(k.loop)(load_converted(k, 0, ptr_at(x, i, size), 1, m, &chunk), to,
                                        m);
  });
}

inline bool has_one_dtype(const Kernel& k) { return k.compute == k.dtype && !(k.add & MIXED); }

inline void run_binary(const Kernel& k, const void* a, int sa, const void* b, int sb, void* out,
                       int64_t n) {
  if (has_one_dtype(k)) {
    reinterpret_cast<BinaryLoop>(k.loop)(a, sa, b, sb, out, n);
    return;
  }
  const int64_t size_a = operand_size(k, 0), size_b = operand_size(k, 1);
  run_and_convert_output(k, out, n, [&](void* to, int64_t i, int64_t m) {
    ChunkBuffer ca, cb;
    reinterpret_cast<BinaryLoop>(k.loop)(
        load_converted(k, 0, ptr_at(a, i * sa, size_a), sa, m, &ca), sa,
        load_converted(k, 1, ptr_at(b, i * sb, size_b), sb, m, &cb), sb, to, m);
  });
}

inline void run_grad(const Kernel& k, const void* g, int sg, const void* a, int sa, const void* b,
                     int sb, void* out, int64_t n) {
  if (has_one_dtype(k)) {
    reinterpret_cast<GradLoop>(k.loop)(g, sg, a, sa, b, sb, out, n);
    return;
  }
  const int64_t size_g = operand_size(k, 0), size_a = operand_size(k, 1),
                size_b = operand_size(k, 2);
  run_and_convert_output(k, out, n, [&](void* to, int64_t i, int64_t m) {
    ChunkBuffer cg, ca, cb;
    reinterpret_cast<GradLoop>(k.loop)(
        load_converted(k, 0, ptr_at(g, i * sg, size_g), sg, m, &cg), sg,
        load_converted(k, 1, ptr_at(a, i * sa, size_a), sa, m, &ca), sa,
        load_converted(k, 2, ptr_at(b, i * sb, size_b), sb, m, &cb), sb, to, m);
  });
}

// ----- broadcasting ------------------------------------------------------------------------------
// Drop axes of length 1 and join neighbours that every operand walks as one.
inline void merge_axes(Space* s) {
  int n = 0;
  s->size = 1;
  for (int i = 0; i < s->ndim; ++i) {
    s->size *= s->shape[i];
    if (s->shape[i] == 1) continue;
    bool joins = n > 0;
    for (int k = 0; joins && k < s->operands; ++k)
      joins = s->stride[k][n - 1] == s->stride[k][i] * s->shape[i];
    if (joins) {
      s->shape[n - 1] *= s->shape[i];
      for (int k = 0; k < s->operands; ++k) s->stride[k][n - 1] = s->stride[k][i];
    } else {
      s->shape[n] = s->shape[i];
      for (int k = 0; k < s->operands; ++k) s->stride[k][n] = s->stride[k][i];
      ++n;
    }
  }
  if (n == 0) {
    s->shape[0] = s->size;
    for (int k = 0; k < s->operands; ++k) s->stride[k][0] = 1;
    n = 1;
  }
  s->ndim = n;
}

// body(offsets, n): runs along the last axis that cover flat indices [begin, end) of the space.
template <class Body>
inline void for_runs(const Space& s, int64_t begin, int64_t end, Body&& body) {
  const int last = s.ndim - 1;
  int64_t index[MAX_AXES], offset[MAX_OPERANDS] = {0}, rest = begin;
  for (int i = last; i >= 0; --i) {
    index[i] = rest % s.shape[i];
    rest /= s.shape[i];
    for (int k = 0; k < s.operands; ++k) offset[k] += index[i] * s.stride[k][i];
  }
  while (begin < end) {
    int64_t n = s.shape[last] - index[last];
    if (n > end - begin) n = end - begin;
    body(offset, n);
    begin += n;
    if (begin >= end) return;
    for (int k = 0; k < s.operands; ++k) offset[k] -= index[last] * s.stride[k][last];
    index[last] = 0;
    for (int i = last - 1; i >= 0; --i) {
      for (int k = 0; k < s.operands; ++k) offset[k] += s.stride[k][i];
      if (++index[i] < s.shape[i]) break;
      for (int k = 0; k < s.operands; ++k) offset[k] -= index[i] * s.stride[k][i];
      index[i] = 0;
    }
  }
}

// ----- whole arrays ------------------------------------------------------------------------------
// True if this thread ran such a loop a moment ago: helper threads are then probably awake.
inline bool ran_loop_lately() {
  static thread_local int64_t before = 0;
  const int64_t now = now_ns(), since = now - before;
  before = now;
  return since < 300000;
}

// parallel_for over n elements in blocks of 64: each element goes through the same instructions, so
// results do not depend on the number of threads.
template <class Body>
inline void parallel_for_blocks(int threads, int64_t n, Body&& body) {
  parallel_for(threads, (n + 63) / 64,
               [&](int64_t begin, int64_t end) { body(begin * 64, end * 64 < n ? end * 64 : n); });
}

inline void unary_threaded(int threads, const Kernel& k, const void* x, void* out, int64_t n) {
  const int64_t size = element_size(k.dtype), size_x = operand_size(k, 0);
  parallel_for_blocks(threads, n, [=, &k](int64_t begin, int64_t end) {
    run_unary(k, ptr_at(x, begin, size_x), ptr_at(out, begin, size), end - begin);
  });
}

#ifdef CYNET_X86_LEVELS
enum { STREAMED = 1024 };  // bytes at a time

// run_binary with stores that bypass the caches: a cached store would first read the line.
inline void run_uncached(const Kernel& k, const char* a, const char* b, char* out, int64_t n) {
  const int64_t size = element_size(k.dtype), each = STREAMED / size;
  const BinaryLoop loop = reinterpret_cast<BinaryLoop>(k.loop);
  alignas(64) char part[STREAMED];
  int64_t i = 0;
  for (; i + each <= n; i += each) {
    loop(a + i * size, 1, b + i * size, 1, part, each);
    for (int j = 0; j < STREAMED; j += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(out + i * size + j),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(part + j)));
  }
  if (i < n) loop(a + i * size, 1, b + i * size, 1, out + i * size, n - i);
  _mm_sfence();
}
#endif

inline void binary_threaded(int threads, const Kernel& k, const void* a, int sa, const void* b,
                            int sb, void* out, int64_t n) {
  const int64_t size = element_size(k.dtype);
#ifdef CYNET_X86_LEVELS
  if (n * size > BEYOND_CACHES && k.compute == k.dtype && !k.add && sa && sb && out != a &&
      out != b && reinterpret_cast<uintptr_t>(out) % 64 == 0) {
    parallel_for_blocks(threads, n, [=, &k](int64_t begin, int64_t end) {
      run_uncached(k, ptr_at(a, begin, size), ptr_at(b, begin, size), ptr_at(out, begin, size),
                   end - begin);
    });
    return;
  }
#endif
  const int64_t size_a = operand_size(k, 0), size_b = operand_size(k, 1);
  parallel_for_blocks(threads, n, [=, &k](int64_t begin, int64_t end) {
    run_binary(k, ptr_at(a, begin * sa, size_a), sa, ptr_at(b, begin * sb, size_b), sb,
               ptr_at(out, begin, size), end - begin);
  });
}

inline void grad_threaded(int threads, const Kernel& k, const void* g, int sg, const void* a,
                          int sa, const void* b, int sb, void* out, int64_t n) {
  const int64_t size = element_size(k.dtype), size_g = operand_size(k, 0);
  const int64_t size_a = operand_size(k, 1), size_b = operand_size(k, 2);
  parallel_for_blocks(threads, n, [=, &k](int64_t begin, int64_t end) {
    run_grad(k, ptr_at(g, begin * sg, size_g), sg, ptr_at(a, begin * sa, size_a), sa,
             ptr_at(b, begin * sb, size_b), sb, ptr_at(out, begin, size), end - begin);
  });
}

// Runs shorter than SHORT cost more in calls than in arithmetic: pixels (H, W, 3) minus a mean
// (3,), for example. Operands with gaps between elements are first packed in chunks.
enum { SHORT = 64 };

// One operand of a space; its elements are numbered in the space's flat order.
class FlatOperand {  // a broadcast operand in flat order
 public:
  FlatOperand(const Space& s, int operand, const void* data, int64_t size)
      : data_(data), size_(size) {
    own_.ndim = s.ndim;
    own_.operands = 1;
    for (int i = 0; i < s.ndim; ++i) {
      own_.shape[i] = s.shape[i];
      own_.stride[0][i] = s.stride[operand][i];
    }
    merge_axes(&own_);
    in_place_ = own_.ndim == 1 && own_.stride[0][0] <= 1;
    if (own_.ndim == 2 && own_.stride[0][0] == 0) period_ = own_.shape[1];
  }

  int stride() const { return in_place_ ? static_cast<int>(own_.stride[0][0]) : 1; }

  // A pointer to elements [begin, end), in place or in the chunk; begin is a multiple of `each`.
  const void* part_address(int64_t begin, int64_t end, int64_t each, ChunkBuffer* chunk) {
    if (in_place_) return ptr_at(data_, begin * own_.stride[0][0], size_);
    if (end - begin > laid_) {
      switch (size_) {
        case 1: copy_to_chunk<uint8_t>(begin, end, chunk); break;
        case 2: copy_to_chunk<uint16_t>(begin, end, chunk); break;
        case 4: copy_to_chunk<uint32_t>(begin, end, chunk); break;
        default: copy_to_chunk<uint64_t>(begin, end, chunk);
      }
      if (period_ && each % period_ == 0) laid_ = end - begin;  // all parts have the same values
    }
    return chunk->bytes;
  }

 private:
  template <typename T>
  void copy_to_chunk(int64_t begin, int64_t end, ChunkBuffer* chunk) const {
    T* to = reinterpret_cast<T*>(chunk->bytes);
    const int64_t stride = own_.stride[0][own_.ndim - 1];
    for_runs(own_, begin, end, [&](const int64_t* offset, int64_t n) {
      const T* from = static_cast<const T*>(data_) + offset[0];
      for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
      to += n;
    });
  }

  Space own_;
  const void* data_;
  int64_t size_, period_ = 0, laid_ = 0;
  bool in_place_;
};

// True if the loop over a space goes by blocks of part_elements. Its first operand, the output, is
// read and written in place.
inline bool is_run_by_parts(const Space& s) {
  const int last = s.ndim - 1;
  int64_t size = 1;
  if (s.shape[last] >= SHORT || last == 0 || s.size < 4 * SHORT) return false;
  for (int i = last; i >= 0; size *= s.shape[i--])
    if (s.stride[0][i] != size) return false;
  return true;
}

inline int64_t part_elements(const Space& s) {
  return CHUNK / s.shape[s.ndim - 1] * s.shape[s.ndim - 1];
}

// The operands of the space are out, a, b. The last axis has stride 0 or 1 in each.
inline void binary_broadcast(int threads, const Kernel& k, const Space& s, const void* a,
                             const void* b, void* out) {
  const int64_t size = element_size(k.dtype);
  const int64_t size_a = operand_size(k, 0), size_b = operand_size(k, 1);
  if (is_run_by_parts(s)) {
    const int64_t each = part_elements(s);
    parallel_for(threads, (s.size + each - 1) / each, [=, &k, &s](int64_t first, int64_t past) {
      FlatOperand fa(s, 1, a, size_a), fb(s, 2, b, size_b);
      ChunkBuffer ca, cb;
      for (int64_t i = first * each; i < past * each && i < s.size; i += each) {
        const int64_t end = i + each < s.size ? i + each : s.size;
        run_binary(k, fa.part_address(i, end, each, &ca), fa.stride(),
                   fb.part_address(i, end, each, &cb), fb.stride(), ptr_at(out, i, size), end - i);
      }
    });
    return;
  }
  const int last = s.ndim - 1;
  const int sa = s.stride[1][last] != 0, sb = s.stride[2][last] != 0;
  parallel_for(threads, s.size, [=, &k, &s](int64_t begin, int64_t end) {
    for_runs(s, begin, end, [=, &k](const int64_t* offset, int64_t n) {
      run_binary(k, ptr_at(a, offset[1], size_a), sa, ptr_at(b, offset[2], size_b), sb,
                 ptr_at(out, offset[0], size), n);
    });
  });
}

// The operands of the space are out, g, a, b.
inline void grad_broadcast(int threads, const Kernel& k, const Space& s, const void* g,
                           const void* a, const void* b, void* out) {
  const int64_t size = element_size(k.dtype), size_g = operand_size(k, 0);
  const int64_t size_a = operand_size(k, 1), size_b = operand_size(k, 2);
  if (is_run_by_parts(s)) {
    const int64_t each = part_elements(s);
    parallel_for(threads, (s.size + each - 1) / each, [=, &k, &s](int64_t first, int64_t past) {
      FlatOperand fg(s, 1, g, size_g), fa(s, 2, a, size_a), fb(s, 3, b, size_b);
      ChunkBuffer cg, ca, cb;
      for (int64_t i = first * each; i < past * each && i < s.size; i += each) {
        const int64_t end = i + each < s.size ? i + each : s.size;
        run_grad(k, fg.part_address(i, end, each, &cg), fg.stride(),
                 fa.part_address(i, end, each, &ca), fa.stride(),
                 fb.part_address(i, end, each, &cb), fb.stride(), ptr_at(out, i, size), end - i);
      }
    });
    return;
  }
  const int last = s.ndim - 1;
  const int sg = s.stride[1][last] != 0, sa = s.stride[2][last] != 0, sb = s.stride[3][last] != 0;
  parallel_for(threads, s.size, [=, &k, &s](int64_t begin, int64_t end) {
    for_runs(s, begin, end, [=, &k](const int64_t* offset, int64_t n) {
      run_grad(k, ptr_at(g, offset[1], size_g), sg, ptr_at(a, offset[2], size_a), sa,
               ptr_at(b, offset[3], size_b), sb, ptr_at(out, offset[0], size), n);
    });
  });
}

// Casts n elements; cast_add_array adds them to dst in dst's type.
inline void cast_array(int threads, int from, int to, const void* src, void* dst, int64_t n) {
  const int64_t in = element_size(from), out = element_size(to);
  parallel_for_blocks(threads, n, [=](int64_t begin, int64_t end) {
    convert(from, to, ptr_at(src, begin, in), ptr_at(dst, begin, out), end - begin);
  });
}

inline void cast_add_array(int threads, const Kernel& plus, int from, const void* src, void* dst,
                           int64_t n) {
  const int64_t in = element_size(from), out = element_size(plus.dtype);
  parallel_for_blocks(threads, n, [=, &plus](int64_t begin, int64_t end) {
    ChunkBuffer chunk;
    for (int64_t i = begin; i < end; i += CHUNK) {
      const int64_t m = end - i < CHUNK ? end - i : static_cast<int64_t>(CHUNK);
      convert(from, plus.dtype, ptr_at(src, i, in), chunk.bytes, m);
      run_unary(plus, chunk.bytes, ptr_at(dst, i, out), m);
    }
  });
}

}  // namespace cynet

#endif
