/* SPDX-License-Identifier: MIT */
#include "api_processes.h"
#include "os/file.h"
#include "formats/lprof/wire.h"
#include "cpython/recorder/own_work.h"
#include "cpython/object/profiler_run.h"
#include "cpython/object/setup.h"
#include "run/processes/children.h"
#include "run/processes/family.h"
#include "run/processes/naming.h"
#include "run/processes/recording.h"
#include <unistd.h>

/* A process has one live file, so it has one of these. */
static struct {
    struct clp_mem mem;
    struct clp_recording recording; /* recording.program is NULL until clp_api_processes_begin */
    struct clp_buf summed;          /* names of the files that gather() read last, each ended by 0 */
} here;

static PyObject *leave(PyObject *capsule, PyObject *nothing)
{
    (void)capsule, (void)nothing;
    clp_children_leave(&here.recording);
    Py_RETURN_NONE;
}

/* Fills an empty profile with the counts of this process and of the processes that have ended. */
static clp_status fill(struct clp_profile *profile, const char *command)
{
    clp_status status = clp_profiler_snapshot(here.recording.profiler, profile);

    clp_buf_clear(&here.summed);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &profile->meta.command, command);
    if (status == CLP_OK)
        status = clp_family_add(&here.recording, profile, &here.summed);
    return status;
}

static PyObject *bytes_of(const struct clp_profile *profile)
{
    struct clp_buf bytes;
    PyObject *object = NULL;

    clp_buf_init(&bytes, profile->mem);
    if (clp_wire_encode(profile, &bytes) == CLP_OK)
        object = PyBytes_FromStringAndSize(clp_buf_text(&bytes), (Py_ssize_t)bytes.used);
    else
        PyErr_NoMemory();
    clp_buf_clear(&bytes);
    return object;
}

static PyObject *gather(PyObject *capsule, PyObject *command)
{
    const char *text = PyUnicode_AsUTF8(command);
    struct clp_recorder *recorder = clp_setup_recorder();
    struct clp_profile profile;
    PyObject *result = NULL;

    (void)capsule;
    if (text == NULL)
        return NULL;
    struct clp_own_work work = clp_own_work_begin(recorder);
    clp_profile_init(&profile, &here.mem);
    if (fill(&profile, text) != CLP_OK)
        PyErr_NoMemory();
    else
        result = profile.process_count > 1 ? bytes_of(&profile) : Py_NewRef(Py_None);
    clp_profile_clear(&profile);
    clp_own_work_end(recorder, work);
    return result;
}

static PyObject *end(PyObject *capsule, PyObject *written)
{
    int is_written = PyObject_IsTrue(written);

    (void)capsule;
    if (is_written < 0)
        return NULL;
    clp_profiler_stop(here.recording.profiler); /* its counters lie in the file that is removed next */
    clp_family_end(&here.recording, &here.summed, is_written != 0);
    here.recording.live.live = NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"leave", leave, METH_NOARGS, NULL},
    {"gather", gather, METH_O, NULL},
    {"end", end, METH_O, NULL},
};

/* Begins the recording. `family` is the name that the first process gave the run; "" makes this process the first. */
static void begin(PyObject *profiler, const char *outfile, unsigned rights, const char *family,
                  const struct clp_recording_wish *wish)
{
    struct clp_recording *recording = &here.recording;

    here.mem = clp_mem_system();
    clp_buf_init(&here.summed, &here.mem);
    clp_recording_init(recording, "clineprof", &here.mem);
    recording->profiler = Py_NewRef(profiler);
    recording->rights = rights;
    recording->leaves_running = true;
    recording->is_first = !clp_run_id_parse(family, &recording->family);
    if (recording->is_first)
        recording->family = clp_run_id_new();
    clp_buf_add_text(&recording->outfile, outfile);
    if (recording->is_first)
        clp_file_clean(outfile);
    clp_recording_begin(recording, wish);
}

/* Builds the tuple that clp_api_processes_begin returns: names, callbacks, methods. A new reference, or NULL with an
 * exception set. */
static PyObject *functions_of(struct clp_recording *recording)
{
    struct clp_buf family;

    clp_buf_init(&family, &here.mem);
    clp_run_id_add(&family, recording->family);
    PyObject *names = Py_BuildValue("(NNs)", PyUnicode_DecodeFSDefault(clp_buf_text(&recording->outfile)),
                                    PyUnicode_DecodeFSDefault(clp_buf_text(&recording->live.path)),
                                    clp_buf_text(&family));
    clp_buf_clear(&family);

    PyObject *callbacks = clp_children_callbacks(recording);
    PyObject *own = clp_children_methods(methods, sizeof methods / sizeof *methods, recording);
    PyObject *both = callbacks != NULL && own != NULL ? PySequence_Concat(callbacks, own) : NULL;
    PyObject *all = names != NULL && both != NULL ? PySequence_Concat(names, both) : NULL;

    Py_XDECREF(names);
    Py_XDECREF(both);
    Py_XDECREF(callbacks);
    Py_XDECREF(own);
    return all;
}

PyObject *clp_api_processes_begin(PyObject *module, PyObject *arguments)
{
    struct clp_recording_wish wish = {0};
    PyObject *profiler, *outfile;
    const char *family;
    unsigned rights;
    int is_server, own_name;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO&Ipssp:together", &profiler, PyUnicode_FSConverter, &outfile,
                          &rights, &own_name, &family, &wish.command, &is_server))
        return NULL;
    wish.own_name = own_name;
    wish.is_server = is_server;
    bool may_begin = here.recording.program == NULL && clp_profiler_may_go_live(profiler);
    if (may_begin)
        begin(profiler, PyBytes_AS_STRING(outfile), rights, family, &wish);
    Py_DECREF(outfile);
    if (!may_begin || here.recording.live.live == NULL)
        Py_RETURN_NONE;
    return functions_of(&here.recording);
}
