/* SPDX-License-Identifier: MIT */
#include "keep.h"
#include "../src/python/profiler.h"
#include "liverun.h"
#include <unistd.h>

/* What liverun.h wants to live as long as the process. */
static struct {
    struct clp_mem mem;
    struct clp_buf outfile;
    struct clp_liverun run;
} kept;

static void begin(PyObject *profiler, const char *outfile, const char *command)
{
    kept.mem = clp_mem_system();
    clp_buf_init(&kept.outfile, &kept.mem);
    clp_buf_init(&kept.run.path, &kept.mem);
    clp_buf_add_text(&kept.outfile, outfile);
    clp_liverun_begin(&kept.run, Py_NewRef(profiler),
                      &(struct clp_liverun_wish){.program = "clineprof",
                                                 .outfile = clp_buf_text(&kept.outfile),
                                                 .command = command});
}

PyObject *clp_keep_begin(PyObject *arguments)
{
    PyObject *profiler, *outfile;
    const char *command;

    if (!PyArg_ParseTuple(arguments, "OO&s:keep", &profiler, PyUnicode_FSConverter, &outfile,
                          &command))
        return NULL;
    if (clp_profiler_may_go_live(profiler))
        begin(profiler, PyBytes_AS_STRING(outfile), command);
    Py_DECREF(outfile);
    return kept.run.live != NULL ? PyUnicode_DecodeFSDefault(clp_buf_text(&kept.run.path))
                                 : Py_NewRef(Py_None);
}

PyObject *clp_keep_end(PyObject *written)
{
    int is_written = PyObject_IsTrue(written);

    if (is_written < 0)
        return NULL;
    if (kept.run.process == getpid())
        clp_liverun_end(&kept.run, "clineprof", is_written != 0);
    Py_RETURN_NONE;
}
