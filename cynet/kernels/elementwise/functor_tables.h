// The tables of elementwise loops, each compiled in a file of its own (unary.cc and so on).
#ifndef CYNET_FUNCTOR_TABLES_H
#define CYNET_FUNCTOR_TABLES_H

#include <cstddef>

#include "isa/kernel_table.h"

namespace cynet {

struct FunctorTable {  // look-ups of the functors of a family
  // loop == nullptr: no such functor
  Kernel (*find)(const char* name, int dtype, int add, int level);
  // The name of functor i (nullptr: no such row), and whether integers have their own loops.
  const char* (*row)(size_t i, bool* whole);
};

extern const FunctorTable unary_functors, unary_grad_functors, binary_functors,
    binary_grad_functors;

}  // namespace cynet

// The table of a family from `rows`, an array of FunctorRow (elementwise.h).
#define CYNET_FUNCTOR_TABLE(family)                                                             \
  const FunctorTable family##_functors = {[](const char* name, int dtype, int add, int level) { \
                                            return find_kernel(rows, name, dtype, add, level);  \
                                          },                                                    \
                                          [](size_t i, bool* whole) {                           \
                                            if (i >= sizeof(rows) / sizeof(rows[0]))            \
                                              return (const char*)nullptr;                      \
                                            *whole = rows[i].loop[0][I32][BASELINE] != nullptr; \
                                            return rows[i].name;                                \
                                          }};

#endif
