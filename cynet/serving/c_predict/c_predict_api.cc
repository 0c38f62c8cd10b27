// MXNet's predict API in C: this library starts Python, unless the process runs it already.
// CYNET_PYTHON is the interpreter whose packages it sees. cynet/serving/c_predict does the work;
// here are handles, arguments and errors.

#define PY_SSIZE_T_CLEAN
#include "c_predict_api.h"

#include <Python.h>

#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace {

thread_local std::string last_error;
std::once_flag started;
std::string why_not_started;

struct Predictor {  // what a PredictorHandle points to
  PyObject* network;
  std::vector<mx_uint> shape;
};

struct NamedArray {  // array of an MXNDList
  std::string key, numbers;
  std::vector<mx_uint> shape;
};

// A reference to a Python object, released at the end of its scope.
class PyRef {  // owned reference to a Python object
 public:
  explicit PyRef(PyObject* object = nullptr) : object_(object) {}
  PyRef(const PyRef&) = delete;
  PyRef& operator=(const PyRef&) = delete;
  ~PyRef() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }  // borrowed reference
  explicit operator bool() const { return object_ != nullptr; }
  PyObject* release() {  // gives the reference away
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }

 private:
  PyObject* object_;
};

void start_python() {
  if (Py_IsInitialized()) return;
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;  // signal handlers belong to the program
  config.parse_argv = 0;
  PyStatus status = PyConfig_SetBytesString(&config, &config.program_name, CYNET_PYTHON);
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) {
    why_not_started = std::string("Python ") + CYNET_PYTHON +
                      " does not start: " + (status.err_msg ? status.err_msg : "unknown reason");
    return;
  }
  PyEval_SaveThread();  // each call takes the GIL itself
}

// Returns the current Python exception as a sentence.
std::string exception_text() {  // of the Python exception that is set
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  std::string text = type ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "unknown error";
  if (PyRef message{value ? PyObject_Str(value) : nullptr}) {
    const char* words = PyUnicode_AsUTF8(message.get());
    if (words) text += std::string(": ") + words;
  }
  PyErr_Clear();
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return text;
}

int set_error(const char* text) {  // returns -1
  last_error = text;
  return -1;
}

// Run `body` with the GIL; it returns false with an exception set.
template <class Body>
int run_with_python(Body body) {  // with the GIL; returns 0 or -1
  std::call_once(started, start_python);
  if (!why_not_started.empty()) return set_error(why_not_started.c_str());
  PyGILState_STATE state = PyGILState_Ensure();
  int code = 0;
  try {
    if (!body()) code = set_error(exception_text().c_str());
  } catch (const std::bad_alloc&) {
    code = set_error("out of memory");
  }
  PyGILState_Release(state);
  return code;
}

PyObject* import_package() { return PyImport_ImportModule("cynet.serving.c_predict"); }

// Returns a dict {name: shape} for the arrays of a call.
PyObject* shapes_of(mx_uint count, const char** keys, const mx_uint* starts,
                    const mx_uint* lengths) {
  PyRef found{PyDict_New()};
  for (mx_uint i = 0; found && i < count; ++i) {
    if (starts[i] > starts[i + 1]) {
      PyErr_SetString(PyExc_ValueError, "input_shape_indptr must not descend");
      return nullptr;
    }
    PyRef shape{PyTuple_New(starts[i + 1] - starts[i])};
    if (!shape) return nullptr;
    for (mx_uint at = starts[i]; at < starts[i + 1]; ++at) {
      PyObject* length = PyLong_FromUnsignedLong(lengths[at]);
      if (!length) return nullptr;
      PyTuple_SET_ITEM(shape.get(), at - starts[i], length);
    }
    if (PyDict_SetItemString(found.get(), keys[i], shape.get())) return nullptr;
  }
  return found.release();
}

bool read_shape(PyObject* shape, std::vector<mx_uint>* out) {  // false: a Python exception is set
  out->clear();
  for (Py_ssize_t i = 0; i < PyTuple_Size(shape); ++i)
    out->push_back(static_cast<mx_uint>(PyLong_AsUnsignedLong(PyTuple_GetItem(shape, i))));
  return !PyErr_Occurred();
}

bool make_handle(PyObject* network, PredictorHandle* out) {  // false: there is no network
  if (!network) return false;
  *out = new Predictor{network, {}};
  return true;
}

PyObject* network_of(PredictorHandle handle) { return static_cast<Predictor*>(handle)->network; }

}  // namespace

const char* MXGetLastError(void) { return last_error.c_str(); }

int MXPredCreatePartialOut(const char* symbol_json_str, const void* param_bytes, int param_size,
                           int dev_type, int dev_id, mx_uint num_input_nodes,
                           const char** input_keys, const mx_uint* input_shape_indptr,
                           const mx_uint* input_shape_data, mx_uint num_output_nodes,
                           const char** output_keys, PredictorHandle* out) {
  if (!symbol_json_str || !out || param_size < 0 || (param_size && !param_bytes) ||
      (num_input_nodes && (!input_keys || !input_shape_indptr || !input_shape_data)) ||
      (num_output_nodes && !output_keys))
    return set_error("MXPredCreate: a pointer is NULL, or param_size is below 0");
  return run_with_python([&] {
    PyRef module{import_package()};
    PyRef kind{module ? PyObject_GetAttrString(module.get(), "Network") : nullptr};
    PyRef shapes{kind ? shapes_of(num_input_nodes, input_keys, input_shape_indptr, input_shape_data)
                      : nullptr};
    PyRef outputs{shapes ? PyList_New(0) : nullptr};
    if (!outputs) return false;
    for (mx_uint i = 0; i < num_output_nodes; ++i) {
      PyRef name{PyUnicode_FromString(output_keys[i])};
      if (!name || PyList_Append(outputs.get(), name.get())) return false;
    }
    const char* bytes = param_size ? static_cast<const char*>(param_bytes) : "";
    return make_handle(PyObject_CallMethod(kind.get(), "create", "sy#(ii)OO", symbol_json_str,
                                           bytes, static_cast<Py_ssize_t>(param_size), dev_type,
                                           dev_id, shapes.get(), outputs.get()),
                       out);
  });
}

int MXPredCreate(const char* symbol_json_str, const void* param_bytes, int param_size, int dev_type,
                 int dev_id, mx_uint num_input_nodes, const char** input_keys,
                 const mx_uint* input_shape_indptr, const mx_uint* input_shape_data,
                 PredictorHandle* out) {
  return MXPredCreatePartialOut(symbol_json_str, param_bytes, param_size, dev_type, dev_id,
                                num_input_nodes, input_keys, input_shape_indptr, input_shape_data,
                                0, nullptr, out);
}

int MXPredReshape(mx_uint num_input_nodes, const char** input_keys,
                  const mx_uint* input_shape_indptr, const mx_uint* input_shape_data,
                  PredictorHandle handle, PredictorHandle* out) {
  if (!handle || !out ||
      (num_input_nodes && (!input_keys || !input_shape_indptr || !input_shape_data)))
    return set_error("MXPredReshape: a pointer is NULL");
  return run_with_python([&] {
    PyRef shapes{shapes_of(num_input_nodes, input_keys, input_shape_indptr, input_shape_data)};
    return shapes &&
           make_handle(PyObject_CallMethod(network_of(handle), "reshape", "O", shapes.get()), out);
  });
}

int MXPredGetOutputShape(PredictorHandle handle, mx_uint index, mx_uint** shape_data,
                         mx_uint* shape_ndim) {
  if (!handle || !shape_data || !shape_ndim)
    return set_error("MXPredGetOutputShape: a pointer is NULL");
  return run_with_python([&] {
    PyRef shape{PyObject_CallMethod(network_of(handle), "shape", "I", index)};
    std::vector<mx_uint>& stored = static_cast<Predictor*>(handle)->shape;
    if (!shape || !read_shape(shape.get(), &stored)) return false;
    *shape_data = stored.data();
    *shape_ndim = static_cast<mx_uint>(stored.size());
    return true;
  });
}

int MXPredSetInput(PredictorHandle handle, const char* key, const mx_float* data, mx_uint size) {
  if (!handle || !key || !data) return set_error("MXPredSetInput: a pointer is NULL");
  return run_with_python([&] {
    char* bytes = reinterpret_cast<char*>(const_cast<mx_float*>(data));
    PyRef view{PyMemoryView_FromMemory(bytes, static_cast<Py_ssize_t>(size) * 4, PyBUF_READ)};
    PyRef done{view ? PyObject_CallMethod(network_of(handle), "set_input", "sO", key, view.get())
                    : nullptr};
    return static_cast<bool>(done);
  });
}

int MXPredForward(PredictorHandle handle) {
  if (!handle) return set_error("MXPredForward: a pointer is NULL");
  return run_with_python([&] {
    PyRef done{PyObject_CallMethod(network_of(handle), "forward", nullptr)};
    return static_cast<bool>(done);
  });
}

int MXPredGetOutput(PredictorHandle handle, mx_uint index, mx_float* data, mx_uint size) {
  if (!handle || !data) return set_error("MXPredGetOutput: a pointer is NULL");
  return run_with_python([&] {
    char* bytes = reinterpret_cast<char*>(data);
    PyRef view{PyMemoryView_FromMemory(bytes, static_cast<Py_ssize_t>(size) * 4, PyBUF_WRITE)};
    PyRef done{view ? PyObject_CallMethod(network_of(handle), "get_output", "IO", index, view.get())
                    : nullptr};
    return static_cast<bool>(done);
  });
}

int MXPredFree(PredictorHandle handle) {
  if (!handle) return set_error("MXPredFree: a pointer is NULL");
  return run_with_python([&] {
    Py_DECREF(network_of(handle));
    delete static_cast<Predictor*>(handle);
    return true;
  });
}

int MXNDListCreate(const char* nd_file_bytes, int nd_file_size, NDListHandle* out,
                   mx_uint* out_length) {
  if (!nd_file_bytes || nd_file_size < 0 || !out || !out_length)
    return set_error("MXNDListCreate: a pointer is NULL, or nd_file_size is below 0");
  return run_with_python([&] {
    PyRef module{import_package()};
    PyRef found{module ? PyObject_CallMethod(module.get(), "read_arrays", "y#", nd_file_bytes,
                                             static_cast<Py_ssize_t>(nd_file_size))
                       : nullptr};
    if (!found) return false;
    auto* arrays = new std::vector<NamedArray>(PyList_Size(found.get()));
    for (size_t i = 0; i < arrays->size(); ++i) {
      const char *key, *numbers;
      Py_ssize_t key_size, size;
      PyObject* shape;
      if (!PyArg_ParseTuple(PyList_GetItem(found.get(), i), "s#y#O", &key, &key_size, &numbers,
                            &size, &shape) ||
          !read_shape(shape, &(*arrays)[i].shape)) {
        delete arrays;
        return false;
      }
      (*arrays)[i].key.assign(key, key_size);
      (*arrays)[i].numbers.assign(numbers, size);
    }
    *out = arrays;
    *out_length = static_cast<mx_uint>(arrays->size());
    return true;
  });
}

int MXNDListGet(NDListHandle handle, mx_uint index, const char** out_key, const mx_float** out_data,
                const mx_uint** out_shape, mx_uint* out_ndim) {
  if (!handle || !out_key || !out_data || !out_shape || !out_ndim)
    return set_error("MXNDListGet: a pointer is NULL");
  const auto& arrays = *static_cast<std::vector<NamedArray>*>(handle);
  if (index >= arrays.size()) return set_error("MXNDListGet: there is no array of this number");
  const NamedArray& one = arrays[index];
  *out_key = one.key.c_str();
  *out_data = reinterpret_cast<const mx_float*>(one.numbers.data());
  *out_shape = one.shape.data();
  *out_ndim = static_cast<mx_uint>(one.shape.size());
  return 0;
}

int MXNDListFree(NDListHandle handle) {
  if (!handle) return set_error("MXNDListFree: a pointer is NULL");
  delete static_cast<std::vector<NamedArray>*>(handle);
  return 0;
}
