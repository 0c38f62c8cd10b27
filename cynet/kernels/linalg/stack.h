// Linear algebra on stacks of matrices: the operators' functions, and their threads.
#ifndef CYNET_LINALG_STACK_H
#define CYNET_LINALG_STACK_H

#include "linalg/decompositions.h"
#include "linalg/factorizations.h"
#include "parallel.h"

namespace cynet {
namespace linalg {

enum { MAX_PARTS = 64, ALIGNED = 16 };  // workspace of a part is a multiple of ALIGNED

// The arrays of a run; `sizes`: elements of one matrix (or vector) in each. NULL: not given.
template <typename T>
struct Arrays {  // inputs, outputs and gradients of a run
  const T* in[3];
  const T* out[3];   // forward's outputs, for backward
  const T* grad[3];  // out_grads
  T* target[3];      // outputs, or in_grads
  bool add[3];
  int64_t in_sizes[3], out_sizes[3];
  int n_targets;
  bool is_backward() const { return grad[0] || grad[1] || grad[2]; }
  const int64_t* target_sizes() const { return is_backward() ? in_sizes : out_sizes; }
};

// Elements of a part's workspace: the operator's, and a copy of each target that is added to.
template <typename T, typename Op>
int64_t workspace(const Stack& s, const Arrays<T>& a) {  // elements of a part's workspace
  int64_t size = Op::workspace_elements(s);
  for (int k = 0; k < a.n_targets; ++k)
    if (a.target[k] && a.add[k]) size += a.target_sizes()[k];
  return (size + ALIGNED - 1) / ALIGNED * ALIGNED;
}

// Computes matrices [begin, end); returns the index of the first that LAPACK rejects, or -1.
template <typename T, typename Op>
int64_t run_matrices(const Stack& s, const Arrays<T>& a, bool back, int64_t begin, int64_t end,
                     T* space, int64_t* info) {
  for (int64_t i = begin; i < end; ++i) {
    const T *in[3], *out[3], *grad[3];
    T *target[3], *free = space + Op::workspace_elements(s);
    for (int k = 0; k < 3; ++k) {
      in[k] = a.in[k] ? a.in[k] + i * a.in_sizes[k] : nullptr;
      target[k] = nullptr;
      if (k >= a.n_targets || !a.target[k]) continue;
      target[k] = a.add[k] ? free : a.target[k] + i * a.target_sizes()[k];
      if (a.add[k]) free += a.target_sizes()[k];
    }
    for (int k = 0; k < 3; ++k) {
      out[k] = a.out[k] ? a.out[k] + i * a.out_sizes[k] : nullptr;
      grad[k] = a.grad[k] ? a.grad[k] + i * a.out_sizes[k] : nullptr;
    }
    *info =
        back ? Op::backward(s, grad, in, out, target, space) : Op::forward(s, in, target, space);
    if (*info) return i;
    for (int k = 0; k < a.n_targets; ++k) {
      if (!target[k] || !a.add[k]) continue;
      const int64_t size = a.target_sizes()[k];
      T* to = a.target[k] + i * size;
      for (int64_t j = 0; j < size; ++j) to[j] += target[k][j];
    }
  }
  return -1;
}

// Runs all matrices, in `parts` contiguous parts with separate memory.
template <typename T, typename Op>
int64_t run_all(const Stack& s, const Arrays<T>& a, bool back, int64_t batch, int parts, T* space,
                int64_t* info) {
  int64_t bad[MAX_PARTS], infos[MAX_PARTS];
  const int64_t each = workspace<T, Op>(s, a);
  parallel_for(parts, parts, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      bad[part] = run_matrices<T, Op>(s, a, back, batch * part / parts, batch * (part + 1) / parts,
                                      space + part * each, &infos[part]);
  });
  for (int part = 0; part < parts; ++part)
    if (bad[part] >= 0) {
      *info = infos[part];
      return bad[part];
    }
  return -1;
}

enum LinalgOperation {
  TRMM,
  TRSM,
  SYRK,
  EXTRACT_TRIAN,
  MAKE_TRIAN,
  POTRF,
  POTRI,
  GELQF,
  SYEVD,
  INVERSE,
  DET,
  SLOGDET,
  SUM_LOG_DIAG,
  SOLVE,
  SVD,
  EIG
};

template <typename T>
struct OperationFunctions {  // of one linalg operation
  int64_t (*workspace)(const Stack&, const Arrays<T>&);
  int64_t (*run_all)(const Stack&, const Arrays<T>&, bool, int64_t, int, T*, int64_t*);
};

template <typename T, typename Op>
OperationFunctions<T> make_op_functions() {
  return {workspace<T, Op>, run_all<T, Op>};
}

template <typename T>
OperationFunctions<T> find_op_functions(int op) {
  switch (op) {
    case TRMM: return make_op_functions<T, Trmm>();
    case TRSM: return make_op_functions<T, Trsm>();
    case SYRK: return make_op_functions<T, Syrk>();
    case EXTRACT_TRIAN: return make_op_functions<T, ExtractTrian>();
    case MAKE_TRIAN: return make_op_functions<T, MakeTrian>();
    case POTRF: return make_op_functions<T, Potrf>();
    case POTRI: return make_op_functions<T, Potri>();
    case GELQF: return make_op_functions<T, Gelqf>();
    case SYEVD: return make_op_functions<T, Syevd>();
    case INVERSE: return make_op_functions<T, Inverse>();
    case DET: return make_op_functions<T, Determinant<false>>();
    case SLOGDET: return make_op_functions<T, Determinant<true>>();
    case SUM_LOG_DIAG: return make_op_functions<T, SumLogDiag>();
    case SOLVE: return make_op_functions<T, Solve>();
    case SVD: return make_op_functions<T, Svd>();
    default: return make_op_functions<T, Eig>();
  }
}

template <typename T>
int64_t part_workspace_elements(const Stack& s, const Arrays<T>& a) {
  return find_op_functions<T>(s.op).workspace(s, a);
}

template <typename T>
int64_t run_stack(const Stack& s, const Arrays<T>& a, bool back, int64_t batch, int parts, T* space,
                  int64_t* info) {
  return find_op_functions<T>(s.op).run_all(s, a, back, batch, parts, space, info);
}

}  // namespace linalg
}  // namespace cynet

#endif  // CYNET_LINALG_STACK_H
