// Functions of the tape that read a thread's state, and Python's frames (_tape.pyx alone includes
// this).
#ifndef CYNET_TAPE_H
#define CYNET_TAPE_H

#include <Python.h>
#include <cstdint>

#include <frameobject.h>  // PyFrame_GetBack, in Python 3.10
static thread_local int cynet_flags = 0;
static thread_local uint64_t cynet_scope = 0;  // id of this thread's record scope

// The code object of the user's innermost frame, outside of `package` (a new reference); `place`
// becomes the offset of its running instruction, from Python 3.11 on. Before: None and the line.
static PyObject* cynet_user_code(PyObject* package, int* place) {
  static PyObject* known = NULL;  // the last code found, as most calls come from one line
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    PyFrameObject* back;
    if ((PyObject*)code != known) {
      Py_ssize_t own = PyUnicode_Tailmatch(code->co_filename, package, 0, PY_SSIZE_T_MAX, -1);
      back = own > 0 ? PyFrame_GetBack(frame) : NULL;
      if (back) {
        Py_DECREF(code);
        Py_DECREF(frame);
        frame = back;
        continue;
      }
      if (own == 0) {
        Py_INCREF(code);
        Py_XDECREF(known);
        known = (PyObject*)code;
      }
    }
#if PY_VERSION_HEX >= 0x030B0000
    *place = PyFrame_GetLasti(frame);
#else
    *place = -1 - PyFrame_GetLineNumber(frame);
#endif
    Py_DECREF(frame);
    return (PyObject*)code;
  }
  Py_RETURN_NONE;
}

static int cynet_line_number(PyObject* code, int place) {
  return place < 0 ? -1 - place : PyCode_Addr2Line((PyCodeObject*)code, place);
}

#endif
