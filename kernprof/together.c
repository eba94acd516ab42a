/* SPDX-License-Identifier: MIT */
#include "together.h"
#include "../src/core/file.h"
#include "../src/core/wire.h"
#include "../src/python/own_work.h"
#include "../src/python/profiler_run.h"
#include "../src/python/setup.h"
#include "children.h"
#include "family.h"
#include <unistd.h>

struct together {
    struct clp_run *run;   /* lives as long as the process */
    struct clp_buf summed; /* files whose content was gathered */
};

/* One in a process, as there is one live file. */
static struct together here;

static PyObject *leave(PyObject *capsule, PyObject *nothing)
{
    (void)capsule, (void)nothing;
    clp_children_leave(here.run);
    Py_RETURN_NONE;
}

/* Of this process and of those that have ended. */
static clp_status fill(struct clp_profile *profile, const char *command)
{
    clp_status status = clp_profiler_snapshot(here.run->profiler, profile);

    clp_buf_clear(&here.summed);
    if (status == CLP_OK)
        status = clp_profile_set_text(profile, &profile->meta.command, command);
    if (status == CLP_OK)
        status = clp_family_add(here.run, profile, &here.summed);
    if (status == CLP_OK && !here.run->is_first)
        status = clp_family_add_first(here.run, profile, &here.summed);
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
    clp_profile_init(&profile, &here.run->mem);
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
    clp_profiler_stop(here.run->profiler); /* whose counters lie in the file */
    clp_liverun_end(&here.run->live, here.run->program, is_written != 0);
    here.run->live.live = NULL;
    if (is_written)
        clp_family_remove(&here.summed);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"leave", leave, METH_NOARGS, NULL},
    {"gather", gather, METH_O, NULL},
    {"end", end, METH_O, NULL},
};

static void begin(struct clp_run *run, const char *command, bool is_server, bool own_name)
{
    here.run = run;
    clp_buf_init(&here.summed, &run->mem);
    run->leaves_running = true;
    if (run->is_first)
        clp_file_clean(clp_buf_text(&run->outfile));
    clp_liverun_begin(&run->live, run->profiler,
                      &(struct clp_liverun_wish){.program = run->program,
                                                 .outfile = &run->outfile,
                                                 .own_name = own_name,
                                                 .command = command,
                                                 .rights = run->rights,
                                                 .family = run->family,
                                                 .is_member = !run->is_first});
    if (run->live.live == NULL)
        return;
    run->live.live->keeps = true;
    if (is_server)
        clp_live_set_name(run->live.live, CLP_FAMILY_SERVER);
}

/* The names, the callbacks and the methods. Owned. */
static PyObject *functions_of(struct clp_run *run)
{
    struct clp_buf family;

    clp_buf_init(&family, &run->mem);
    clp_run_id_add(&family, run->family);
    PyObject *names = Py_BuildValue("(NNs)", PyUnicode_DecodeFSDefault(clp_buf_text(&run->outfile)),
                                    PyUnicode_DecodeFSDefault(clp_buf_text(&run->live.path)),
                                    clp_buf_text(&family));
    clp_buf_clear(&family);

    PyObject *callbacks = clp_children_callbacks(run);
    PyObject *own = clp_children_methods(methods, sizeof methods / sizeof *methods, run);
    PyObject *both = callbacks != NULL && own != NULL ? PySequence_Concat(callbacks, own) : NULL;
    PyObject *all = names != NULL && both != NULL ? PySequence_Concat(names, both) : NULL;

    Py_XDECREF(names);
    Py_XDECREF(both);
    Py_XDECREF(callbacks);
    Py_XDECREF(own);
    return all;
}

PyObject *clp_together_begin(PyObject *module, PyObject *arguments)
{
    PyObject *profiler, *outfile;
    const char *command, *family;
    unsigned rights;
    struct clp_run *run;
    int is_server, own_name;

    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO&Ipssp:together", &profiler, PyUnicode_FSConverter, &outfile,
                          &rights, &own_name, &family, &command, &is_server))
        return NULL;
    if (here.run != NULL || !clp_profiler_may_go_live(profiler)) {
        Py_DECREF(outfile);
        Py_RETURN_NONE;
    }
    run = clp_run_new("clineprof");
    if (run != NULL) {
        run->profiler = Py_NewRef(profiler);
        run->rights = rights;
        run->is_first = !clp_run_id_parse(family, &run->family);
        if (run->is_first)
            run->family = clp_run_id_new();
        clp_buf_add_text(&run->outfile, PyBytes_AS_STRING(outfile));
        begin(run, command, is_server, own_name);
    }
    Py_DECREF(outfile);
    if (run == NULL)
        return NULL;
    return run->live.live != NULL ? functions_of(run) : Py_NewRef(Py_None);
}
