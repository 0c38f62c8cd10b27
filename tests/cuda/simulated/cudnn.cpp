// A libcudnn over host memory, for tests: the calls cynet makes, checked as documented (what lives,
// shapes, types, workspace), by plain loops in double.
#include "cudnn.h"

#include <cstdio>

Living<Handle> handles;
Living<Tensor> tensors;
Living<Filter> filters;
Living<Convolution> convolutions;
Living<Pooling> poolings;
static thread_local char last_message[200];
static int next_status = SUCCESS;

int refuse(int status, const char* message) {
  snprintf(last_message, sizeof(last_message), "%s", message);
  return status;
}

// Whether elements of the type are known: 0 float, 1 double, 2 half, 9 bfloat16.
static bool known(int type) { return (type >= 0 && type <= 2) || type == CUDNN_BFLOAT16; }

int run(Handle* h, std::function<void()> work) {
  if (next_status != SUCCESS) {
    const int status = next_status;
    next_status = SUCCESS;
    return refuse(status, "as the test wanted");
  }
  return queue(h->stream, std::move(work)) ? SUCCESS : EXECUTION_FAILED;
}

extern "C" {
const char* cudnnGetErrorString(int status) {
  switch (status) {
    case SUCCESS: return "CUDNN_STATUS_SUCCESS";
    case NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
    case SPACE_TOO_SMALL: return "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT";
    case NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    default: return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}

void cudnnGetLastErrorString(char* message, size_t size) {
  snprintf(message, size, "%s", last_message);
  last_message[0] = 0;
}

int cudnnCreate(void** handle) {
  *handle = handles.make();
  return SUCCESS;
}

int cudnnSetStream(void* handle, void* stream) {
  Handle* h = handles.find(handle);
  if (h == nullptr) return NOT_INITIALIZED;
  h->stream = stream;
  return SUCCESS;
}

int cudnnCreateTensorDescriptor(void** d) { return *d = tensors.make(), SUCCESS; }
int cudnnDestroyTensorDescriptor(void* d) { return tensors.destroy(d) ? SUCCESS : BAD_PARAM; }
int cudnnCreateFilterDescriptor(void** d) { return *d = filters.make(), SUCCESS; }
int cudnnDestroyFilterDescriptor(void* d) { return filters.destroy(d) ? SUCCESS : BAD_PARAM; }
int cudnnCreateConvolutionDescriptor(void** d) { return *d = convolutions.make(), SUCCESS; }
int cudnnDestroyConvolutionDescriptor(void* d) {
  return convolutions.destroy(d) ? SUCCESS : BAD_PARAM;
}
int cudnnCreatePoolingDescriptor(void** d) { return *d = poolings.make(), SUCCESS; }
int cudnnDestroyPoolingDescriptor(void* d) { return poolings.destroy(d) ? SUCCESS : BAD_PARAM; }

int cudnnSetTensorNdDescriptor(void* d, int type, int rank, const int* dims, const int* strides) {
  Tensor* t = tensors.find(d);
  if (t == nullptr || !known(type)) return refuse(BAD_PARAM, "descriptor or type");
  if (rank < 3 || rank > 8) return refuse(NOT_SUPPORTED, "rank");
  t->type = type;
  t->rank = rank;
  for (int i = 0; i < rank; ++i) {
    if (dims[i] < 1 || strides[i] < 1) return refuse(BAD_PARAM, "dimension or stride below 1");
    t->dims[i] = dims[i];
    t->strides[i] = strides[i];
  }
  return SUCCESS;
}

int cudnnSetFilterNdDescriptor(void* d, int type, int format, int rank, const int* dims) {
  Filter* f = filters.find(d);
  if (f == nullptr || !known(type) || format != 0)
    return refuse(BAD_PARAM, "descriptor, type or format");
  if (rank < 3 || rank > 8) return refuse(NOT_SUPPORTED, "rank");
  f->type = type;
  f->rank = rank;
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; --i) {
    if (dims[i] < 1) return refuse(BAD_PARAM, "dimension below 1");
    f->dims[i] = dims[i];
    f->strides[i] = stride;
    stride *= dims[i];
  }
  return SUCCESS;
}

// C (+)= A, whose axes of 1 are repeated
int cudnnAddTensor(void* handle, const void* alpha, void* a_desc, const void* a, const void* beta,
                   void* c_desc, void* c) {
  Handle* h = handles.find(handle);
  Tensor *ta = tensors.find(a_desc), *tc = tensors.find(c_desc);
  if (h == nullptr) return NOT_INITIALIZED;
  if (!ta || !tc || !a || !c) return refuse(BAD_PARAM, "descriptor or data");
  if (ta->rank != tc->rank || ta->type != tc->type || tc->rank < 4 || tc->rank > 5)
    return refuse(BAD_PARAM, "rank or type");
  for (int i = 0; i < tc->rank; ++i)
    if (ta->dims[i] != tc->dims[i] && ta->dims[i] != 1) return refuse(BAD_PARAM, "dimensions");
  const Tensor from = *ta, to = *tc;
  const double by = scalar(alpha, to.type == 1), keep = scalar(beta, to.type == 1);
  return run(h, [=] {
    with_type(to.type, [=](auto zero) {
      typedef decltype(zero) T;
      each(to.rank, to.dims, [=](const int64_t* at) {
        int64_t place = 0;
        for (int i = 0; i < to.rank; ++i)
          place += (from.dims[i] == 1 ? 0 : at[i]) * from.strides[i];
        put(static_cast<T*>(c) + to.place(at), by * static_cast<const T*>(a)[place], keep);
      });
    });
  });
}

// For the tests: the next call that computes something fails with this status.
void simulated_failure(int status) { next_status = status; }

// For the tests: descriptors that nobody has destroyed.
int simulated_descriptors() {
  return tensors.count() + filters.count() + convolutions.count() + poolings.count();
}
}
