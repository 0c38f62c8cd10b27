// A count of live objects in each module that includes this header. Only test builds count
// (CYNET_DEBUG_COUNTERS in setup.py), since each object costs two atomic additions.
#ifndef CYNET_LIVE_OBJECTS_H
#define CYNET_LIVE_OBJECTS_H

#include <Python.h>

#ifdef CYNET_DEBUG_COUNTERS
#include <atomic>
static std::atomic<long long> cynet_living{0};
static inline void cynet_count_live(int more) { cynet_living.fetch_add(more); }  // `more`: 1 or -1
static PyObject* cynet_n_live(PyObject*, PyObject*) { return PyLong_FromLongLong(cynet_living); }
#else
static inline void cynet_count_live(int) {}  // counts no objects
static PyObject* cynet_n_live(PyObject*, PyObject*) { Py_RETURN_NONE; }  // counts no objects
#endif

// Returns a Python function without arguments that returns the count, or None.
static PyObject* cynet_live_counter() {  // for Python
  static PyMethodDef method = {"live", cynet_n_live, METH_NOARGS, nullptr};
  return PyCFunction_New(&method, nullptr);
}

#endif
