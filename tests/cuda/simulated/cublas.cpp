// A libcublas over host memory, for tests: the calls cynet makes, checked as documented, by plain
// loops in double.
#include "stream.h"

#include <cstdlib>

enum {
  SUCCESS = 0,
  NOT_INITIALIZED = 1,
  INVALID_VALUE = 7,
  EXECUTION_FAILED = 13,
  NOT_SUPPORTED = 15
};

struct Handle {
  void* stream = nullptr;
  char* workspace = nullptr;
  size_t bytes = 0;
};

static Living<Handle> handles;
static long long calls = 0;
static int last_compute = 0, next_status = 0;

static bool fits(int type, int compute) {
  if (compute == 70) return type == 1;                                  // CUBLAS_COMPUTE_64F
  if (compute == 77) return type == 0;                                  // ..._32F_FAST_TF32
  return (compute == 68 || compute == 69) &&                            // CUBLAS_COMPUTE_32F
         (type == 0 || type == 2 || type == CUDA_BFLOAT16);
}

template <typename T>
static void multiply(int ta, int tb, int64_t m, int64_t n, int64_t k, double alpha, const T* a,
                     int64_t lda, const T* b, int64_t ldb, double beta, T* c, int64_t ldc) {
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += static_cast<double>(ta ? a[l + i * lda] : a[i + l * lda]) *
               static_cast<double>(tb ? b[j + l * ldb] : b[l + j * ldb]);
      T& out = c[i + j * ldc];
      out = static_cast<T>(beta == 0 ? alpha * sum : alpha * sum + beta * static_cast<double>(out));
    }
}

static int gemm(void* handle, int ta, int tb, int64_t m, int64_t n, int64_t k, const void* alpha,
                const void* a, int at, int64_t lda, int64_t stride_a, const void* b, int bt,
                int64_t ldb, int64_t stride_b, const void* beta, void* c, int ct, int64_t ldc,
                int64_t stride_c, int64_t count, int compute, int algorithm) {
  Handle* h = handles.find(handle);
  if (h == nullptr) return NOT_INITIALIZED;
  if (ta < 0 || ta > 2 || tb < 0 || tb > 2 || m < 0 || n < 0 || k < 0 || count < 0)
    return INVALID_VALUE;
  auto least = [](int64_t x) { return x > 1 ? x : 1; };
  if (lda < least(ta ? k : m) || ldb < least(tb ? n : k) || ldc < least(m)) return INVALID_VALUE;
  if (alpha == nullptr || beta == nullptr) return INVALID_VALUE;
  if (at != bt || at != ct || !fits(at, compute)) return NOT_SUPPORTED;
  if (algorithm < -1 || (algorithm > 23 && algorithm < 99) || algorithm > 115) return INVALID_VALUE;
  if (m && n && count && (c == nullptr || (k && (a == nullptr || b == nullptr))))
    return INVALID_VALUE;
  if (next_status) {
    const int status = next_status;
    next_status = 0;
    return status;
  }
  const bool wide = compute == 70;
  const double by = scalar(alpha, wide), keep = scalar(beta, wide);
  ++calls;
  last_compute = compute;
  char* space = h->workspace;
  const size_t bytes = h->bytes;
  return queue(h->stream,
               [=] {
                 if (bytes) memset(space, 0xee, bytes < 4096 ? bytes : 4096);
                 with_type(at, [=](auto zero) {
                   typedef decltype(zero) T;
                   for (int64_t i = 0; i < count; ++i)
                     multiply(ta, tb, m, n, k, by, static_cast<const T*>(a) + i * stride_a, lda,
                              static_cast<const T*>(b) + i * stride_b, ldb, keep,
                              static_cast<T*>(c) + i * stride_c, ldc);
                 });
               })
             ? SUCCESS
             : EXECUTION_FAILED;
}

extern "C" {
int cublasCreate_v2(void** handle) {
  if (handle == nullptr) return INVALID_VALUE;
  *handle = handles.make();
  return SUCCESS;
}

int cublasSetStream_v2(void* handle, void* stream) {
  Handle* h = handles.find(handle);
  if (h == nullptr) return NOT_INITIALIZED;
  h->stream = stream;
  h->workspace = nullptr;  // back to the library's own
  h->bytes = 0;
  return SUCCESS;
}

int cublasSetWorkspace_v2(void* handle, void* space, size_t bytes) {
  Handle* h = handles.find(handle);
  if (h == nullptr) return NOT_INITIALIZED;
  if (reinterpret_cast<uintptr_t>(space) % 256) return INVALID_VALUE;
  h->workspace = static_cast<char*>(space);
  h->bytes = bytes;
  return SUCCESS;
}

int cublasGemmEx_64(void* handle, int ta, int tb, int64_t m, int64_t n, int64_t k,
                    const void* alpha, const void* a, int at, int64_t lda, const void* b, int bt,
                    int64_t ldb, const void* beta, void* c, int ct, int64_t ldc, int compute,
                    int algorithm) {
  return gemm(handle, ta, tb, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc, 0, 1,
              compute, algorithm);
}

int cublasGemmStridedBatchedEx_64(void* handle, int ta, int tb, int64_t m, int64_t n, int64_t k,
                                  const void* alpha, const void* a, int at, int64_t lda,
                                  long long stride_a, const void* b, int bt, int64_t ldb,
                                  long long stride_b, const void* beta, void* c, int ct,
                                  int64_t ldc, long long stride_c, int64_t count, int compute,
                                  int algorithm) {
  return gemm(handle, ta, tb, m, n, k, alpha, a, at, lda, stride_a, b, bt, ldb, stride_b, beta, c,
              ct, ldc, stride_c, count, compute, algorithm);
}

// For the tests: products so far, and the compute type of the last one.
long long simulated_products() { return calls; }
int simulated_compute() { return last_compute; }
// The next product fails with this status.
void simulated_failure(int status) { next_status = status; }
}
