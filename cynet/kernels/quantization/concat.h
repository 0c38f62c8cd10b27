// Concatenates 8-bit arrays, rescaled to one step. Included by operator/quantization/concat.pyx.
#ifndef CYNET_QUANTIZED_CONCAT_H
#define CYNET_QUANTIZED_CONCAT_H

#include <cstring>
#include <limits>

#include "isa/kernel_table.h"
#include "parallel.h"

#define CYNET_PER_ISA_FILE "quantization/scaled_loops.h"
#include "isa/for_each_isa.h"

namespace cynet {

struct ConcatPart {  // an input of the concatenation
  const void* data;
  int64_t length;  // length of a line
  float scale;  // step of the part / step of the output
  int is_signed;
};

typedef int (*ScaledLoop)(const void*, void*, int64_t, float);

inline ScaledLoop find_scaled_loop(int level, int from_signed, int to_signed) {
  static const ScaledLoop loops[2][2][N_LEVEL] = {
      {CYNET_AT_LEVELS(scale_to_bytes<uint8_t, uint8_t>),
       CYNET_AT_LEVELS(scale_to_bytes<uint8_t, int8_t>)},
      {CYNET_AT_LEVELS(scale_to_bytes<int8_t, uint8_t>),
       CYNET_AT_LEVELS(scale_to_bytes<int8_t, int8_t>)}};
  return loops[from_signed][to_signed][level];
}

// Writes `outer` lines; each concatenates one line of each part.
inline void concat_bytes(int level, int threads, const ConcatPart* parts, int n, int64_t outer,
                         void* out, int is_signed) {
  int64_t total = 0;
  for (int k = 0; k < n; ++k) total += parts[k].length;
  parallel_for(threads, outer, [=](int64_t begin, int64_t end) {
    char* to = static_cast<char*>(out) + begin * total;
    for (int64_t line = begin; line < end; ++line)
      for (int k = 0; k < n; ++k) {
        const ConcatPart& p = parts[k];
        const char* from = static_cast<const char*>(p.data) + line * p.length;
        if (p.scale == 1 && p.is_signed == is_signed) std::memcpy(to, from, p.length);
        else find_scaled_loop(level, p.is_signed, is_signed)(from, to, p.length, p.scale);
        to += p.length;
      }
  });
}

}  // namespace cynet

#endif
