/* SPDX-License-Identifier: MIT */
#include "api_live_file.h"
#include "os/file.h"
#include "os/identity.h"
#include "cpython/object/profiler_run.h"
#include "run/processes/liverun.h"
#include "run/processes/recording.h"

/* A process has one live file, so it has one of these. */
static struct clp_recording kept;
static struct clp_mem mem;

static void begin(PyObject *profiler, const char *outfile, unsigned rights, const char *command)
{
    mem = clp_mem_system();
    clp_recording_init(&kept, "clineprof", &mem);
    kept.profiler = Py_NewRef(profiler);
    kept.rights = rights;
    clp_buf_add_text(&kept.outfile, outfile);
    clp_file_clean(outfile);
    clp_recording_begin(&kept, &(struct clp_recording_wish){.command = command});
}

PyObject *clp_api_live_file_begin(PyObject *module, PyObject *arguments)
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
    if (kept.live.live == NULL)
        Py_RETURN_NONE;
    return Py_BuildValue("(NN)", PyUnicode_DecodeFSDefault(clp_buf_text(&kept.outfile)),
                         PyUnicode_DecodeFSDefault(clp_buf_text(&kept.live.path)));
}

PyObject *clp_api_live_file_end(PyObject *module, PyObject *written)
{
    int is_written = PyObject_IsTrue(written);

    (void)module;
    if (is_written < 0)
        return NULL;
    if (kept.live.process == clp_identity_self())
        clp_liverun_end(&kept.live, kept.program, is_written != 0);
    Py_RETURN_NONE;
}
