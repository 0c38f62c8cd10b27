// What a kernel is: one C++ function that reads tensors and writes tensors, in a table by name.
//
// A file `kernels/FAMILY/NAME.cc` holds kernels. It includes itself once for each level of CPU
// capability (isa/for_each_isa.h), so that all of it is compiled for the level, and registers what
// it has:
//
//     #ifndef CYNET_LANES
//     #include "kernel.h"
//     namespace cynet {
//     #define SCALE(field) field(double, by)
//     CYNET_PARAMS(Scale, SCALE)
//     }
//     #define CYNET_LOOPS "elementwise/scale.cc"
//     #include "isa/for_each_isa.h"
//     CYNET_FLOAT_KERNEL(scale, Scale, 1)
//     #else
//     template <typename T>
//     void scale(const Args& args) { ... }
//     #endif
//
// A declaration (operator/kernel_property.py) names it and fills the parameters by their names.
#ifndef CYNET_KERNEL_FUNCTION_H
#define CYNET_KERNEL_FUNCTION_H

#include <cstddef>
#include <cstdint>

#include "isa/kernel_table.h"
#include "isa/levels.h"
#include "parallel.h"

namespace cynet {

// As TBlob of _typedefs.pxd.
struct Blob {
  void* data;
  int64_t shape[8];
  int64_t size;
  int ndim, dtype, dev_type, dev_id;
};

enum { MAX_TENSORS = 8 };  // that a kernel reads, or writes

// One run of a kernel, whose tensors are in the order of the declaration that names it.
struct Args {
  const Blob* in[MAX_TENSORS];
  const Blob* out[MAX_TENSORS];
  bool wanted[MAX_TENSORS];  // whether that output is to be written at all; one is
  bool add[MAX_TENSORS];     // whether it is added to what the output holds
  const void* params;        // the struct that CYNET_PARAMS names
  int threads;  // how many it may use

  template <typename T>
  const T* input(int i) const {
    return static_cast<const T*>(in[i]->data);
  }
  template <typename T>
  T* output(int i) const {  // nullptr: not wanted
    return wanted[i] ? static_cast<T*>(out[i]->data) : nullptr;
  }
  template <class P>
  const P& as() const {
    return *static_cast<const P*>(params);
  }
};

typedef void (*KernelFunction)(const Args& args);

// A field of a struct of parameters.
struct ParamField {
  const char* name;
  char kind;  // as Python's struct module has it: q, d, i, ?
  size_t offset;
};

template <typename T>
constexpr char kind_of();
template <>
constexpr char kind_of<int64_t>() { return 'q'; }
template <>
constexpr char kind_of<double>() { return 'd'; }
template <>
constexpr char kind_of<int>() { return 'i'; }
template <>
constexpr char kind_of<bool>() { return '?'; }

#define CYNET_MEMBER(Type, name) Type name;
#define CYNET_FIELD(Type, name) {#name, ::cynet::kind_of<Type>(), offsetof(Self, name)},
// struct Name with the members that LIST(field) lists as field(Type, name), which a kernel gets and
// a declaration fills by name.
#define CYNET_PARAMS(Name, LIST)                                          \
  struct Name {                                                           \
    LIST(CYNET_MEMBER)                                                    \
    static const ParamField* fields() {                                   \
      typedef Name Self;                                                  \
      static const ParamField all[] = {LIST(CYNET_FIELD){nullptr, 0, 0}}; \
      return all;                                                         \
    }                                                                     \
  };

struct KernelEntry {
  const char* name;
  int cost;  // simple operations for each element of the largest tensor: how many threads it pays
  size_t params_size;
  const ParamField* fields;  // the end has no name
  KernelFunction run[N_DTYPE][N_LEVEL];
  const KernelEntry* next;
};

// The list of all kernels, which files of kernels add to when kernels/table.pyx, whose module they
// are in, is loaded.
inline const KernelEntry*& first_kernel() {
  static const KernelEntry* first = nullptr;
  return first;
}

struct RegisteredKernel {
  explicit RegisteredKernel(KernelEntry& entry) {
    entry.next = first_kernel();
    first_kernel() = &entry;
  }
};

}  // namespace cynet

// Registers `template <typename T> void name(const Args&)` of each level, for float and double.
#define CYNET_FLOAT_KERNEL(name, Params, cost)                                                  \
  namespace cynet {                                                                             \
  static KernelEntry name##_entry = {                                                           \
      #name, cost, sizeof(Params), Params::fields(),                                            \
      {CYNET_AT_LEVELS(name<float>), CYNET_AT_LEVELS(name<double>)}, nullptr};                  \
  static const RegisteredKernel name##_registered(name##_entry);                                \
  }

#endif
