// Softmax of the simulated libcudnn.
#include <cmath>
#include <vector>

#include "cudnn.h"

enum { FAST = 0, ACCURATE = 1, LOGARITHM = 2 };
enum { OVER_ALL_BUT_THE_FIRST = 0, OVER_THE_SECOND = 1 };

static bool alike(const Tensor* a, const Tensor* b) {
  if (a->rank != b->rank || a->type != b->type) return false;
  for (int i = 0; i < a->rank; ++i)
    if (a->dims[i] != b->dims[i] || a->strides[i] != b->strides[i]) return false;
  return true;
}

// What both calls check alike.
static int check_softmax(void* handle, int algorithm, int mode, const Tensor* x, const Tensor* y) {
  if (handles.find(handle) == nullptr) return NOT_INITIALIZED;
  if (!x || !y) return refuse(BAD_PARAM, "descriptor");
  if (algorithm < FAST || algorithm > LOGARITHM) return refuse(BAD_PARAM, "algorithm");
  if (mode != OVER_ALL_BUT_THE_FIRST && mode != OVER_THE_SECOND) return refuse(BAD_PARAM, "mode");
  if (x->rank < 4 || x->rank > 5) return refuse(NOT_SUPPORTED, "rank");
  if (!alike(x, y)) return refuse(BAD_PARAM, "descriptors differ");
  return SUCCESS;
}

// f(places of a line's elements) for every line that is to sum to 1.
template <typename F>
static void lines(const Tensor& t, int mode, F f) {
  int64_t outside[8], inside[8];
  for (int i = 0; i < t.rank; ++i) {
    const bool summed = mode == OVER_THE_SECOND ? i == 1 : i > 0;
    outside[i] = summed ? 1 : t.dims[i];
    inside[i] = summed ? t.dims[i] : 1;
  }
  std::vector<int64_t> places;
  each(t.rank, outside, [&](const int64_t* line) {
    places.clear();
    each(t.rank, inside, [&](const int64_t* at) { places.push_back(t.place(line) + t.place(at)); });
    f(places);
  });
}

extern "C" {
int cudnnSoftmaxForward(void* handle, int algorithm, int mode, const void* alpha, void* x_desc,
                        const void* x, const void* beta, void* y_desc, void* y) {
  const Tensor *tx = tensors.find(x_desc), *ty = tensors.find(y_desc);
  const int wrong = check_softmax(handle, algorithm, mode, tx, ty);
  if (wrong) return wrong;
  if (!x || !y) return refuse(BAD_PARAM, "data");
  const Tensor shape = *tx;
  const double by = scalar(alpha, shape.type == 1), keep = scalar(beta, shape.type == 1);
  return run(handles.find(handle), [=] {
    with_type(shape.type, [=](auto zero) {
      typedef decltype(zero) T;
      lines(shape, mode, [=](const std::vector<int64_t>& places) {
        double top = algorithm == FAST ? 0 : -INFINITY, sum = 0;
        std::vector<double> values;
        for (int64_t i : places) values.push_back(static_cast<const T*>(x)[i]);
        if (algorithm != FAST)
          for (double v : values) top = v > top ? v : top;
        if (top == -INFINITY && shape.type != 1) top = 0;  // as cuDNN 9.19 does it on an H200
        for (double v : values) sum += std::exp(v - top);
        for (size_t k = 0; k < places.size(); ++k) {
          const double z = values[k] - top;
          put(static_cast<T*>(y) + places[k],
              by * (algorithm == LOGARITHM ? z - std::log(sum ? sum : 1)
                                           : std::exp(z) / (sum ? sum : 1)),
              keep);
        }
      });
    });
  });
}

int cudnnSoftmaxBackward(void* handle, int algorithm, int mode, const void* alpha, void* y_desc,
                         const void* y, void* dy_desc, const void* dy, const void* beta,
                         void* dx_desc, void* dx) {
  const Tensor *ty = tensors.find(y_desc), *tdy = tensors.find(dy_desc);
  const Tensor* tdx = tensors.find(dx_desc);
  int wrong = check_softmax(handle, algorithm, mode, ty, tdy);
  if (!wrong) wrong = check_softmax(handle, algorithm, mode, tdy, tdx);
  if (wrong) return wrong;
  if (!y || !dy || !dx) return refuse(BAD_PARAM, "data");
  if (dx == y) return refuse(BAD_PARAM, "the gradient lies where y is");
  const Tensor shape = *ty;
  const double by = scalar(alpha, shape.type == 1), keep = scalar(beta, shape.type == 1);
  return run(handles.find(handle), [=] {
    with_type(shape.type, [=](auto zero) {
      typedef decltype(zero) T;
      lines(shape, mode, [=](const std::vector<int64_t>& places) {
        auto of = [](const void* p, int64_t i) { return double(static_cast<const T*>(p)[i]); };
        double sum = 0;
        for (int64_t i : places) sum += of(dy, i) * (algorithm == LOGARITHM ? 1 : of(y, i));
        for (int64_t i : places) {
          const double d = algorithm == LOGARITHM ? of(dy, i) - std::exp(of(y, i)) * sum
                                                  : of(y, i) * (of(dy, i) - sum);
          put(static_cast<T*>(dx) + i, by * d, keep);
        }
      });
    });
  });
}
}
