// Rows added to rows that an index names. Included by embedding.pyx alone.
#ifndef CYNET_EMBEDDING_H
#define CYNET_EMBEDDING_H

#include <cstdint>

#include "kernel.h"
#include "levels.h"

#define CYNET_LOOPS "embedding_loops.h"
#include "each_level.h"

namespace cynet {

template <typename T>
void add_rows(int level, const T* x, const int64_t* rows, int64_t n, int64_t dim, int64_t first,
              int64_t last, T* y) {
  static decltype(&baseline::add_rows<T>) const loops[] = CYNET_AT_LEVELS(add_rows<T>);
  loops[level](x, rows, n, dim, first, last, y);
}

}  // namespace cynet

#endif
