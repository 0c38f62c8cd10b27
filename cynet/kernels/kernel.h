// A kernel is one C++ function that reads tensors and writes tensors, in a table by name.
//
// A file `kernels/FAMILY/NAME.cc` holds kernels. It includes itself once for each level of CPU
// capability (isa/for_each_isa.h), so that all of it is compiled for the level, and registers its
// kernels:
//
//     #ifndef CYNET_LANES
//     #include "kernel.h"
//     namespace cynet {
//     #define SCALE_FIELDS(field) field(double, by)
//     CYNET_PARAMS(Scale, SCALE_FIELDS)
//     }
//     #define CYNET_PER_ISA_FILE "elementwise/scale.cc"
//     #include "isa/for_each_isa.h"
//     CYNET_KERNEL(scale, Scale, 1, CYNET_FLOATS)
//     #else
//     namespace {
//     template <typename T>
//     void scale(const Args& args) { ... }
//     }
//     #endif
//
// All else that it defines is in that unnamed namespace or static: other files have functions of
// the same names. A kernel that wider registers do not help is one plain template, without levels
// (CYNET_PLAIN_KERNEL).
//
// A declaration (operator/kernel_property.py) names it and fills the parameters by their names.
#ifndef CYNET_KERNEL_FUNCTION_H
#define CYNET_KERNEL_FUNCTION_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/bfloat16.h"
#include "common/half.h"
#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "parallel.h"

namespace cynet {

// An array: the same fields as TBlob of _typedefs.pxd.
struct Blob {  // an array and its shape
  void* data;
  int64_t shape[8];
  int64_t size;
  int ndim, dtype, dev_type, dev_id;
};

enum { MAX_TENSORS = 72 };  // maximum number of tensors that a kernel reads or writes

// The lowest index that threads report.
struct FirstIndex {  // lowest index that threads report
  std::atomic<int64_t> first{-1};
  std::vector<double> values;  // values for the error message
  int64_t place() const { return first; }  // the lowest index
  void record_lowest(int64_t place) {
    int64_t seen = first;
    while ((seen < 0 || place < seen) && !first.compare_exchange_weak(seen, place)) {
    }
  }
};

// The index of a failure, and of a value that the user is warned of.
struct Failure : FirstIndex {
  FirstIndex noted;
};

// One run of a kernel, whose tensors are in the order of the declaration that names it.
struct Args {  // arguments of one run of a kernel
  const Blob* in[MAX_TENSORS];  // nullptr: not given
  const Blob* out[MAX_TENSORS];
  bool wanted[MAX_TENSORS];  // true if the output must be written
  bool add[MAX_TENSORS];     // true: add to the output
  const void* params;        // the struct that CYNET_PARAMS names
  int threads;               // maximum number of threads that the kernel may use
  int level;                 // CPU level that selects loops (levels.h)
  bool training;
  void* space;  // workspace of as many bytes as the entry's `space` returns
  Failure* failure;
  uint64_t seed, stream;  // seed and stream of random words, for kernels that draw
  uint64_t* rows;  // nullptr, or a bit set of the nonzero rows of the gradient, to be written
  bool rows_known;  // true if the bits of `rows` are valid before the run

  template <typename T>
  const T* input(int i) const {  // nullptr: not given
    return in[i] ? static_cast<const T*>(in[i]->data) : nullptr;
  }
  template <typename T>
  T* output(int i) const {  // nullptr: not wanted
    return wanted[i] ? static_cast<T*>(out[i]->data) : nullptr;
  }
  template <class P>
  const P& as() const {  // the parameters
    return *static_cast<const P*>(params);
  }
  // The number of threads for `work` simple operations (GRAIN of parallel.pxd), for a kernel that
  // works on a small part of a large tensor.
  int threads_of(int64_t work) const {
    const int64_t maximum = work < 65536 ? 1 : work / 32768;
    return threads < maximum ? threads : static_cast<int>(maximum);
  }
  // The declaration's `failure` describes the error; forward or backward then raises it.
  void fail(int64_t place) const { failure->record_lowest(place); }  // index of a bad element
  // The declaration's `noticed` is called after the run, which goes on.
  void note_value(int64_t place, const std::vector<double>& values) const {
    failure->noted.values = values;
    failure->noted.record_lowest(place);
  }
  // Like fail(place), with numbers for the message; only outside of parallel loops.
  void fail(int64_t place, const std::vector<double>& values) const {
    failure->values = values;
    failure->record_lowest(place);
  }
};

typedef void (*KernelFunction)(const Args& args);

typedef int64_t (*SpaceFunction)(const Args& args);  // bytes of workspace

// A field of a struct of parameters.
struct ParamField {
  const char* name;
  char kind;  // code of Python's struct module: q, d, i, ?
  int count;  // number of values; the declaration may give fewer, others are 0
  // (of Floats: 0, for any number)
  size_t offset;
};

template <typename T>
struct ParamKind;
template <>
struct ParamKind<int64_t> {  // its code of Python's module struct
  enum { kind = 'q', count = 1 };
};
template <>
struct ParamKind<double> {  // its code of Python's module struct
  enum { kind = 'd', count = 1 };
};
template <>
struct ParamKind<int> {  // its code of Python's module struct
  enum { kind = 'i', count = 1 };
};
template <>
struct ParamKind<bool> {  // its code of Python's module struct
  enum { kind = '?', count = 1 };
};
struct Floats {  // a parameter of any number of floats
  const float* at;
  int64_t n;
};
template <>
struct ParamKind<Floats> {  // its code of Python's module struct
  enum { kind = 'f', count = 0 };
};
template <int n>
using Int64s = std::array<int64_t, n>;  // a parameter of several numbers
template <int n>
using Doubles = std::array<double, n>;  // a parameter of several numbers
template <typename T, size_t n>
struct ParamKind<std::array<T, n>> {  // its code of Python's module struct
  enum { kind = ParamKind<T>::kind, count = n };
};

#define CYNET_DECLARE_MEMBER(Type, name) Type name;
#define CYNET_PARAM_FIELD(Type, name)                                            \
  {#name, char(::cynet::ParamKind<Type>::kind), ::cynet::ParamKind<Type>::count, \
   offsetof(Self, name)},
// struct Name with the members that LIST(field) lists as field(Type, name), which a kernel gets and
// a declaration fills by name.
#define CYNET_PARAMS(Name, LIST)                                   \
  struct Name {                                                    \
    LIST(CYNET_DECLARE_MEMBER)                                     \
    static const ParamField* fields() {                            \
      typedef Name Self;                                           \
      static const ParamField all[] = {LIST(CYNET_PARAM_FIELD){}}; \
      return all;                                                  \
    }                                                              \
  };

// Writes or adds one number to an output; no effect if `out` is nullptr.
template <typename T>
inline void put_number(T* out, int64_t i, double value, bool add) {
  if (out) out[i] = static_cast<T>(add ? out[i] + value : value);
}

struct NoParams {
  static const ParamField* fields() {  // an empty list
    static const ParamField none = {};
    return &none;
  }
};

struct KernelEntry {
  const char* name;
  int cost;  // simple operations for each element of the largest tensor
  size_t params_size;
  const ParamField* fields;  // ends with an entry without name
  SpaceFunction space;  // bytes of workspace; nullptr: none
  KernelFunction run[N_DTYPE][N_LEVEL];
  const KernelEntry* next;
};

// The list of all kernels; each file adds its kernels when the module of kernels/table.pyx loads.
inline const KernelEntry*& kernel_list_head() {
  static const KernelEntry* first = nullptr;
  return first;
}

// The row for elements of type T in tables that are indexed by dtype.
template <typename T>
constexpr int row_of_type = -1;  // -1: no row
template <>
constexpr int row_of_type<float> = F32;
template <>
constexpr int row_of_type<double> = F64;
template <>
constexpr int row_of_type<half> = F16;
template <>
constexpr int row_of_type<uint8_t> = U8;
template <>
constexpr int row_of_type<int32_t> = I32;
template <>
constexpr int row_of_type<int8_t> = I8;
template <>
constexpr int row_of_type<int64_t> = I64;
template <>
constexpr int row_of_type<bool> = BOOL;
template <>
constexpr int row_of_type<bfloat16> = 8;

// Forms<T>::at holds a kernel's functions for elements of type T, one per level.
template <template <typename> class Forms, typename... Types>
struct RegisteredKernel {
  KernelEntry entry;
  RegisteredKernel(const char* name, int cost, size_t params_size, const ParamField* fields,
                   SpaceFunction space)
      : entry{name, cost, params_size, fields, space, {}, kernel_list_head()} {
    (copy_levels(Forms<Types>::at, entry.run[row_of_type<Types>]), ...);
    kernel_list_head() = &entry;
  }
  static void copy_levels(const KernelFunction* from, KernelFunction* to) {
    for (int level = 0; level < N_LEVEL; ++level) to[level] = from[level];
  }
};

}  // namespace cynet

#ifdef CYNET_X86_LEVELS
#define CYNET_EVERY_LEVEL(function) {function, function, function, function}  // used at all levels
#else
#define CYNET_EVERY_LEVEL(function) CYNET_SAME_AT_LEVELS(function)  // used at all levels
#endif

#define CYNET_REGISTER(LEVELS, name, Params, cost, space, ...)                                 \
  namespace cynet {                                                                            \
  template <typename T>                                                                        \
  struct name##_forms {                                                                        \
    static constexpr KernelFunction at[N_LEVEL] = LEVELS(name<T>);                             \
  };                                                                                           \
  static const RegisteredKernel<name##_forms, __VA_ARGS__> name##_registered(#name, cost,      \
                                                                             sizeof(Params),   \
                                                                             Params::fields(), \
                                                                             space);           \
  }

// Registers `template <typename T> void name(const Args&)` of each level, for the types given.
#define CYNET_KERNEL(name, Params, cost, ...) \
  CYNET_REGISTER(CYNET_AT_LEVELS, name, Params, cost, nullptr, __VA_ARGS__)
// A kernel with workspace; `space` is a function of Args, whose `threads` are known.
#define CYNET_SPACE_KERNEL(name, Params, cost, space, ...) \
  CYNET_REGISTER(CYNET_AT_LEVELS, name, Params, cost, space, __VA_ARGS__)
// A kernel compiled for the baseline alone, outside of the levels.
#define CYNET_PLAIN_KERNEL(name, Params, cost, ...) \
  CYNET_REGISTER(CYNET_EVERY_LEVEL, name, Params, cost, nullptr, __VA_ARGS__)
#define CYNET_PLAIN_SPACE_KERNEL(name, Params, cost, space, ...) \
  CYNET_REGISTER(CYNET_EVERY_LEVEL, name, Params, cost, space, __VA_ARGS__)

#define CYNET_FLOATS float, double  // types that a kernel supports
#define CYNET_NUMBERS float, double, ::cynet::half, uint8_t, int32_t, int8_t, int64_t  // types

#endif
