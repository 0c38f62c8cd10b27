// What the parts of the simulated libcudnn share: its objects and walks over tensors.
#pragma once
#include "stream.h"

enum {
  SUCCESS = 0,
  NOT_INITIALIZED = 1001,
  BAD_PARAM = 2000,
  SPACE_TOO_SMALL = 2006,
  NOT_SUPPORTED = 3000,
  NO_MEMORY = 4004,
  EXECUTION_FAILED = 5000
};

struct Handle {
  void* stream = nullptr;
};

struct Tensor {
  int type = -1, rank = 0;
  int64_t dims[8], strides[8];
  int64_t place(const int64_t* at) const {
    int64_t sum = 0;
    for (int i = 0; i < rank; ++i) sum += at[i] * strides[i];
    return sum;
  }
};

struct Filter : Tensor {};

struct Convolution {
  int axes = 0, groups = 1, math = 0, compute = -1;
  int64_t pad[6], stride[6], dilate[6];
};

struct Pooling {
  int mode = -1, axes = 0;
  int64_t window[6], pad[6], stride[6];
};

extern Living<Handle> handles;
extern Living<Tensor> tensors;
extern Living<Filter> filters;
extern Living<Convolution> convolutions;
extern Living<Pooling> poolings;

// Keeps the message for cudnnGetLastErrorString; returns the status.
int refuse(int status, const char* message);

// Queues what a call computes.
int run(Handle* h, std::function<void()> work);

// f(index) for every index of `dims`.
template <typename F>
void each(int rank, const int64_t* dims, F f) {
  int64_t at[8] = {0};
  for (int i = 0; i < rank; ++i)
    if (dims[i] == 0) return;
  for (;;) {
    f(at);
    int i = rank - 1;
    while (i >= 0 && ++at[i] == dims[i]) at[i--] = 0;
    if (i < 0) return;
  }
}

// out = value + keep * out, without reading out where keep is 0
template <typename T>
void put(T* out, double value, double keep) {
  *out = static_cast<T>(keep == 0 ? value : value + keep * static_cast<double>(*out));
}
