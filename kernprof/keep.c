/* SPDX-License-Identifier: MIT */
#include "keep.h"
#include "../src/core/file.h"
#include "../src/core/identity.h"
#include "../src/python/profiler_run.h"
#include "liverun.h"

/* What liverun.h wants to live as long as the process. */
static struct {
    struct clp_mem mem;
    struct clp_buf outfile;
    struct clp_liverun run;
} kept;

static void begin(PyObject *profiler, const char *outfile, unsigned rights, const char *command)
{
    kept.mem = clp_mem_system();
    clp_buf_init(&kept.outfile, &kept.mem);
    clp_buf_init(&kept.run.path, &kept.mem);
    clp_buf_add_text(&kept.outfile, outfile);
    clp_file_clean(outfile);
    clp_liverun_begin(&kept.run, Py_NewRef(profiler),
                      &(struct clp_liverun_wish){.program = "clineprof",
                                                 .outfile = &kept.outfile,
                                                 .rights = rights,
                                                 .command = command});
}

PyObject *clp_keep_begin(PyObject *module, PyObject *arguments)
{
    PyObject *profiler, *outfile;
    const char *command;
    unsigned rights;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO&Is:keep", &profiler, PyUnicode_FSConverter, &outfile, &rights,
                          &command))
        return NULL;
    if (clp_profiler_may_go_live(profiler))
        begin(profiler, PyBytes_AS_STRING(outfile), rights, command);
    Py_DECREF(outfile);
    if (kept.run.live == NULL)
        Py_RETURN_NONE;
    return Py_BuildValue("(NN)", PyUnicode_DecodeFSDefault(clp_buf_text(&kept.outfile)),
                         PyUnicode_DecodeFSDefault(clp_buf_text(&kept.run.path)));
}

PyObject *clp_keep_end(PyObject *module, PyObject *written)
{
    int is_written = PyObject_IsTrue(written);

    (void)module;
    if (is_written < 0)
        return NULL;
    if (kept.run.process == clp_identity_self())
        clp_liverun_end(&kept.run, "clineprof", is_written != 0);
    Py_RETURN_NONE;
}
