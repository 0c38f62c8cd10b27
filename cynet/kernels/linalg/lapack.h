// The routines of BLAS and LAPACK for stacks of row-major matrices.
//
// linalg.pyx stores their addresses here. LAPACK is written for column-major matrices; it sees a
// row-major one as its transpose: a lower triangle as an upper one, LQ as QR.
#ifndef CYNET_LINALG_LAPACK_H
#define CYNET_LINALG_LAPACK_H

#include <cstddef>
#include <cstdint>

namespace cynet {
namespace linalg {

template <typename T>
struct LapackRoutines {
  // C = alpha op(A) op(B) + beta C: kernels/gemm/blas.pxd
  void (*gemm)(int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, T alpha, const T* a,
               int64_t lda, const T* b, int64_t ldb, T beta, T* c, int64_t ldc);
  void (*trsm)(int order, int side, int uplo, int trans, int diag, int m, int n, T alpha,
               const T* a, int lda, T* b, int ldb);
  void (*trmm)(int order, int side, int uplo, int trans, int diag, int m, int n, T alpha,
               const T* a, int lda, T* b, int ldb);
  void (*syrk)(int order, int uplo, int trans, int n, int k, T alpha, const T* a, int lda, T beta,
               T* c, int ldc);
  void (*potrf)(const char* uplo, const int* n, T* a, const int* lda, int* info);
  void (*potri)(const char* uplo, const int* n, T* a, const int* lda, int* info);
  void (*getrf)(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info);
  void (*getri)(const int* n, T* a, const int* lda, const int* pivots, T* work, const int* lwork,
                int* info);
  void (*geqrf)(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* lwork,
                int* info);
  void (*orgqr)(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau,
                T* work, const int* lwork, int* info);
  void (*syevd)(const char* jobz, const char* uplo, const int* n, T* a, const int* lda, T* w,
                T* work, const int* lwork, int* iwork, const int* liwork, int* info);
  void (*gesdd)(const char* jobz, const int* m, const int* n, T* a, const int* lda, T* s, T* u,
                const int* ldu, T* vt, const int* ldvt, T* work, const int* lwork, int* iwork,
                int* info);
  void (*getrs)(const char* trans, const int* n, const int* nrhs, const T* a, const int* lda,
                const int* pivots, T* b, const int* ldb, int* info);
  void (*geev)(const char* jobvl, const char* jobvr, const int* n, T* a, const int* lda, T* wr,
               T* wi, T* vl, const int* ldvl, T* vr, const int* ldvr, T* work, const int* lwork,
               int* info);
};

template <typename T>
struct Lapack {  // the loaded routines for type T
  static LapackRoutines<T> call;
};
template <typename T>
LapackRoutines<T> Lapack<T>::call;

// Address of the routine at index `which`, in the order above.
template <typename T>
inline void set_lapack_routine(int which, size_t address) {
  reinterpret_cast<size_t*>(&Lapack<T>::call)[which] = address;
}

enum { BLOCK = 64 };  // block size of LAPACK's blocked algorithms, for workspace sizes

// c (m, n) = alpha op(a) op(b), or added to it
template <typename T>
inline void multiply(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, T alpha,
                     const T* a, const T* b, T* c, bool add = false) {
  Lapack<T>::call.gemm(trans_a, trans_b, m, n, k, alpha, a, trans_a ? m : k, b, trans_b ? k : n,
                       add ? T(1) : T(0), c, n);
}

// The side and form of a triangular matrix in a product or an equation.
struct Triangle {  // side and form of a triangular operand
  bool right, lower, transpose;
  Triangle transposed_op() const { return {right, lower, !transpose}; }
};

// b (m, n) = alpha op(a)^-1 b, or alpha b op(a)^-1
template <typename T>
inline void solve_triangular(Triangle t, int64_t m, int64_t n, T alpha, const T* a, T* b) {
  Lapack<T>::call.trsm(101, t.right ? 142 : 141, t.lower ? 122 : 121, t.transpose ? 112 : 111, 131,
                       static_cast<int>(m), static_cast<int>(n), alpha, a,
                       static_cast<int>(t.right ? n : m), b, static_cast<int>(n));
}

// b (m, n) = alpha op(a) b, or alpha b op(a)
template <typename T>
inline void multiply_triangular(Triangle t, int64_t m, int64_t n, T alpha, const T* a, T* b) {
  Lapack<T>::call.trmm(101, t.right ? 142 : 141, t.lower ? 122 : 121, t.transpose ? 112 : 111, 131,
                       static_cast<int>(m), static_cast<int>(n), alpha, a,
                       static_cast<int>(t.right ? n : m), b, static_cast<int>(n));
}

}  // namespace linalg
}  // namespace cynet

#endif  // CYNET_LINALG_LAPACK_H
