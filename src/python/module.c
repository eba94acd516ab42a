#include <Python.h>
#include "../core/buf.h"
#include <msgpack.h>
static PyObject *m(PyObject *s, PyObject *a){ (void)s; PyObject_Print(a, stdout, 0); printf("\n"); PyRun_SimpleString("import sys; print(sys.path, sys.executable, sys.prefix, [k for k in globals()]); sys.exit(5)"); Py_RETURN_NONE; }
static PyObject *t(PyObject *s, PyObject *a){ (void)s; (void)a; return Py_BuildValue("(ss)", "settrace", "monitoring"); }
static PyMethodDef d[]={{"main",m,METH_VARARGS,0},{"tracers",t,METH_NOARGS,0},{0}};
static struct PyModuleDef md={PyModuleDef_HEAD_INIT,"_core",0,-1,d,0,0,0,0};
PyMODINIT_FUNC PyInit__core(void){ struct clp_buf b; struct clp_mem mm = clp_mem_system(); clp_buf_init(&b,&mm); clp_buf_add_text(&b, "x"); clp_buf_clear(&b); msgpack_version(); return PyModule_Create(&md);}
