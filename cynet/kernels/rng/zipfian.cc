// Draws without repetition from a Zipfian (log-uniform) distribution.
#include <algorithm>
#include <cmath>

#include "kernel.h"
#include "rng/philox.h"

namespace cynet {
namespace {

// `count` different numbers of [0, range) into `out`, in the order in which they were drawn; number
// x has probability log((x + 2) / (x + 1)) / log(range + 1). Returns the number of draws. `table`:
// 2^bits > count entries. A row draws from its own part of the stream.
int64_t draw_row(uint64_t seed, uint64_t stream, int64_t row, int64_t range, int64_t count,
                 int64_t* out, int64_t* table, int bits) {
  const Philox generator(seed, stream);
  const int64_t slots = int64_t(1) << bits;
  const double width = std::log(static_cast<double>(range) + 1);
  std::fill(table, table + slots, int64_t(-1));
  uint64_t block = static_cast<uint64_t>(row) << 40;
  uint32_t words[4];
  int64_t found = 0, tries = 0;
  for (int half = 2; found < count; ++half) {
    if (half > 1) {
      generator.block(block++, words);
      half = 0;
    }
    const double u = unit_double(words[2 * half], words[2 * half + 1]);
    const int64_t x = std::min(static_cast<int64_t>(std::exp(u * width)) - 1, range - 1);
    ++tries;
    int64_t at =
        static_cast<int64_t>((static_cast<uint64_t>(x) * 0x9E3779B97F4A7C15u) >> (64 - bits));
    while (table[at] >= 0 && table[at] != x) at = (at + 1) & (slots - 1);
    if (table[at] == x) continue;
    table[at] = x;
    out[found++] = x;
  }
  return tries;
}

#define ZIPFIAN_FIELDS(field) field(int64_t, range_max)
CYNET_PARAMS(Zipfian, ZIPFIAN_FIELDS)

// The table of a row has 2^bits entries, at most half of them used.
inline int hash_table_bits(const Args& args) {
  int bits = 2;
  while ((int64_t(1) << bits) < 2 * args.out[0]->shape[1]) ++bits;
  return bits;
}
inline int64_t zipfian_workspace_bytes(const Args& args) {
  return args.threads * (int64_t(sizeof(int64_t)) << hash_table_bits(args));
}

// writes samples (rows, count), and the number of draws of each row
template <typename T>
void unique_zipfian(const Args& args) {
  const int64_t rows = args.out[0]->shape[0], count = args.out[0]->shape[1];
  const int64_t parts = args.threads < rows ? args.threads : rows;
  const int bits = hash_table_bits(args);
  for_parts(parts, [&](int64_t part) {
    int64_t* table = static_cast<int64_t*>(args.space) + (part << bits);
    for (int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row)
      args.output<T>(1)[row] = draw_row(args.seed, args.stream, row, args.as<Zipfian>().range_max,
                                        count, args.output<T>(0) + row * count, table, bits);
  });
}

}  // namespace
}  // namespace cynet

CYNET_PLAIN_SPACE_KERNEL(unique_zipfian, Zipfian, 64, zipfian_workspace_bytes, int64_t)
