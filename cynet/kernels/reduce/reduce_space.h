// The axes of a reduction, and the lookup of its loops, for code that does not compile them.
#ifndef CYNET_REDUCE_SPACE_H
#define CYNET_REDUCE_SPACE_H

#include <cstddef>
#include <cstdint>

namespace cynet {

struct ReduceSpace {  // axes that stay and reduced ones
  int n_preserved, n_reduced;
  int64_t preserved_size, reduced_size;  // elements of the output; elements that fold into each
  int64_t preserved[8], preserved_stride[8];  // strides in the input
  int64_t reduced[8], reduced_stride[8];
  int last_is_preserved;  // 1: `preserved` has the input's last axis, 0: `reduced`
};

typedef void (*ReduceLoop)(int threads, int level, const ReduceSpace& s, const void* x, void* out,
                           int add, double divisor);

// The tables in reduce.cc; nullptr: no such loop, or no row i.
ReduceLoop find_reduce_loop(const char* name, int dtype);
const char* reducer_name(size_t i);

// Splits `shape` into preserved and reduced axes (flag set), and joins neighbors of one kind.
inline void make_reduce_space(ReduceSpace* s, int ndim, const int64_t* shape,
                              const int* is_reduced) {
  int64_t stride = 1;
  int last = -1;  // flag of the previous (right) axis
  s->n_preserved = s->n_reduced = s->last_is_preserved = 0;
  s->preserved_size = s->reduced_size = 1;
  // from the last axis to the first; the lists are reversed below
  for (int i = ndim - 1; i >= 0; --i) {
    if (shape[i] == 1) continue;
    const int flag = is_reduced[i] != 0;
    int& count = flag ? s->n_reduced : s->n_preserved;
    int64_t* lengths = flag ? s->reduced : s->preserved;
    if (last == -1 && !flag) s->last_is_preserved = 1;
    (flag ? s->reduced_size : s->preserved_size) *= shape[i];
    if (last == flag) {
      lengths[count - 1] *= shape[i];
    } else {
      lengths[count] = shape[i];
      (flag ? s->reduced_stride : s->preserved_stride)[count++] = stride;
    }
    last = flag;
    stride *= shape[i];
  }
  if (s->n_reduced == 0 && !s->last_is_preserved) {  // the input has one element
    s->reduced[0] = s->reduced_stride[0] = 1;
    s->n_reduced = 1;
  }
  const auto turn_round = [](int64_t* values, int n) {
    for (int i = 0; i < n / 2; ++i) {
      const int64_t value = values[i];
      values[i] = values[n - 1 - i], values[n - 1 - i] = value;
    }
  };
  turn_round(s->preserved, s->n_preserved), turn_round(s->preserved_stride, s->n_preserved);
  turn_round(s->reduced, s->n_reduced), turn_round(s->reduced_stride, s->n_reduced);
}

}  // namespace cynet

#endif
