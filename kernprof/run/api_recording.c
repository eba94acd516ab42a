/* SPDX-License-Identifier: MIT */
#include "api_recording.h"
#include "bridge/rendering.h"
#include "cpython/object/profiler_run.h"
#include "cpython/object/setup.h"
#include "cpython/recorder/own_work.h"
#include "ending.h"
#include "os/file.h"
#include "report/choice.h"
#include "run/processes/children.h"
#include "run/processes/naming.h"
#include <structmember.h>

/* Forks and the end of the process use a Recording once it has a live file, so it is freed only after drop(). */
struct recording {
    PyObject_HEAD
    bool dropped;
    struct clp_mem mem;
    struct clp_recording recording;
    struct clp_profile profile; /* as gathered last */
    PyObject *outfile; /* owned str; NULL: no live file lies beside it */
    PyObject *family;  /* owned str; NULL: the process is counted alone */
};

static struct recording *cast(PyObject *self)
{
    return (struct recording *)self;
}

/* ---- the start ---- */

/* Begins the recording. `family` names the run of several processes; "" makes this process the first of a new run, and
 * with NULL it is counted alone. leads: it is the first of the run of this name, in which the names of the others' files begin with this path; or
 * NULL. */
static void begin(struct clp_recording *recording, const char *outfile, const char *family, const char *leads,
                  const struct clp_recording_wish *wish)
{
    bool named = family != NULL && clp_run_id_parse(family, &recording->family);

    recording->is_first = leads != NULL || !named;
    if (family != NULL && !named)
        recording->family = clp_run_id_new();
    clp_buf_add_text(&recording->outfile, outfile);
    if (leads != NULL)
        clp_buf_add_text(&recording->family_at, leads);
    if (recording->is_first)
        clp_file_clean(outfile);
    clp_recording_begin(recording, wish);
    if (!clp_recording_has_name(recording))
        recording->family.token = 0; /* the family's files lie beside the outfile */
}

/* Fills `outfile` and `family`, the attributes that Python sees. False with an exception set. */
static bool note_names(struct recording *self)
{
    struct clp_buf family;

    if (!clp_recording_has_name(&self->recording))
        return true;
    clp_buf_init(&family, &self->mem);
    clp_run_id_add(&family, self->recording.family);
    self->outfile = PyUnicode_DecodeFSDefault(clp_buf_text(&self->recording.outfile));
    if (self->recording.family.token != 0)
        self->family = PyUnicode_FromString(clp_buf_text(&family));
    clp_buf_clear(&family);
    return self->outfile != NULL && (self->family != NULL || self->recording.family.token == 0);
}

static struct recording *make(PyTypeObject *type, PyObject *profiler, unsigned rights)
{
    struct recording *self = (struct recording *)type->tp_alloc(type, 0);

    if (self == NULL)
        return NULL;
    self->mem = clp_mem_system();
    clp_recording_init(&self->recording, "clineprof", &self->mem);
    clp_profile_init(&self->profile, &self->mem);
    self->recording.profiler = Py_NewRef(profiler);
    self->recording.rights = rights;
    self->recording.leaves_running = true;
    return self;
}

static PyObject *recording_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"profiler", "outfile", "rights", "command",
                            "family",   "own_name", "is_server", "leads", NULL};
    struct clp_recording_wish wish = {0};
    PyObject *profiler, *outfile, *path = NULL; /* the path is owned */
    const char *family = NULL, *leads = NULL;
    int own_name = 0, is_server = 0;
    unsigned rights;

    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOIs|zppz:Recording", names, &profiler, &outfile,
                                     &rights, &wish.command, &family, &own_name, &is_server, &leads) ||
        (outfile != Py_None && !PyUnicode_FSConverter(outfile, &path)))
        return NULL;
    wish.own_name = own_name;
    wish.is_server = is_server;
    struct recording *self = make(type, profiler, rights);
    if (self != NULL && path != NULL && clp_profiler_may_go_live(profiler))
        begin(&self->recording, PyBytes_AS_STRING(path), family, leads, &wish);
    Py_XDECREF(path);
    return self != NULL && note_names(self) ? Py_NewRef((PyObject *)self) : NULL;
}

static PyObject *callbacks(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return clp_children_callbacks(&cast(self)->recording);
}

/* ---- the end ---- */

static PyObject *stop(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    clp_ending_stop(&cast(self)->recording, NULL);
    Py_RETURN_NONE;
}

/* Makes the new profile before it clears the earlier one, which another thread may show meanwhile. */
static PyObject *gather(PyObject *self, PyObject *command)
{
    const char *text = PyUnicode_AsUTF8(command);
    struct clp_recorder *recorder = clp_process_recorder();
    struct clp_profile profile;

    if (text == NULL)
        return NULL;
    struct clp_own_work work = clp_own_work_begin(recorder);
    clp_profile_init(&profile, &cast(self)->mem);
    clp_ending_gather(&cast(self)->recording, NULL, text, &profile);
    clp_profile_clear(&cast(self)->profile);
    cast(self)->profile = profile;
    clp_own_work_end(recorder, work);
    Py_RETURN_NONE;
}

static PyObject *is_idle(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    return PyBool_FromLong(clp_choice_is_idle(&cast(self)->profile));
}

static PyObject *render(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    struct clp_profile shown = cast(self)->profile; /* borrowed */
    struct clp_recorder *recorder = clp_process_recorder();
    struct clp_rendering rendering;

    if (!clp_rendering_read(&rendering, arguments, keywords))
        return NULL;
    if (shown.process_count == 1)
        shown.process_count = 0; /* a list of one process is left out */
    struct clp_own_work work = clp_own_work_begin(recorder);
    PyObject *rendered = clp_rendering_of(&shown, &rendering);
    clp_own_work_end(recorder, work);
    return rendered;
}

static PyObject *close_live(PyObject *self, PyObject *written)
{
    int is_written = PyObject_IsTrue(written);

    if (is_written < 0)
        return NULL;
    clp_ending_close(&cast(self)->recording, is_written != 0);
    Py_RETURN_NONE;
}

static PyObject *drop(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    if (!cast(self)->dropped)
        Py_DECREF(self); /* the reference that recording_new has kept; the caller has another one */
    cast(self)->dropped = true;
    Py_RETURN_NONE;
}

static void recording_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    struct clp_recording *recording = &cast(self)->recording;

    clp_liverun_leave(&recording->live);
    clp_profile_clear(&cast(self)->profile);
    clp_buf_clear(&recording->outfile);
    clp_buf_clear(&recording->live.path);
    clp_buf_clear(&recording->summed);
    clp_buf_clear(&recording->family_at);
    Py_XDECREF(recording->profiler);
    Py_XDECREF(cast(self)->outfile);
    Py_XDECREF(cast(self)->family);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *leave(PyObject *self, PyObject *nothing)
{
    (void)nothing;
    clp_children_leave(&cast(self)->recording);
    Py_RETURN_NONE;
}

/* ---- the type ---- */

static PyMethodDef methods[] = {
    {"callbacks", callbacks, METH_NOARGS,
     "callbacks()\n--\n\nReturns the functions that _children.begin() registers to be called around forks. Only\n"
     "for a process that is counted with others."},
    {"stop", stop, METH_NOARGS, "stop()\n--\n\nStops counting, for the end of the process."},
    {"gather", gather, METH_O,
     "gather(command)\n--\n\nGathers what was counted so far, with the counts of the family's other processes that\n"
     "have ended. Removes no file. command: the program's command line, for readers."},
    {"is_idle", is_idle, METH_NOARGS, "is_idle()\n--\n\nReturns whether no line has run in what was gathered."},
    {"render", CLP_C_FUNCTION(render), METH_VARARGS | METH_KEYWORDS,
     "render(format, ..)\n--\n\nRenders what was gathered, as Profiler.render does."},
    {"close", close_live, METH_O,
     "close(written)\n--\n\nRemoves the live files if what was gathered has been written. If not, they stay, and a\n"
     "message names this process's own."},
    {"drop", drop, METH_NOARGS,
     "drop()\n--\n\nGives the recording up where the process goes on, or in the child of a fork. The live file, if\n"
     "there is one still, stays as it is. Call nothing else afterwards."},
    {"leave", leave, METH_NOARGS,
     "leave()\n--\n\nEnds a process that writes no profile, as another process adds up its live file."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"outfile", T_OBJECT, offsetof(struct recording, outfile), READONLY,
     "The path of the profile; the live file lies beside it. It is not the path that was asked for if another\n"
     "process uses that. None: there is no live file, or it is in the temporary folder."},
    {"family", T_OBJECT, offsetof(struct recording, family), READONLY,
     "The name of the run of several processes. None: this process is counted alone."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc,
     "Recording(profiler, outfile, rights, command, family=None, own_name=False, is_server=False,\n"
     "leads=None)\n--\n\n"
     "Keeps the counts of a Profiler in a live file, with these rights, until the end. The live file lies beside\n"
     "the outfile, an absolute path, or in the temporary folder if it cannot be made there (a message says so). The\n"
     "counts stay in memory if the outfile is None, if neither folder takes the file (a message says so), if the\n"
     "profiler has selected functions already, or if another one has a live file.\n"
     "command: the program's command line, for readers. family: the name of the run of several processes in which\n"
     "this one takes part; \"\" begins a new run; None: it is counted alone. own_name: the outfile gets the process's\n"
     "number in its name. is_server: the process only forks others. leads: it is the first process of the run `family`,\n"
     "which others may have joined already; the names of their files begin with this path."},
    {Py_tp_new, recording_new},
    {Py_tp_dealloc, recording_free},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "clineprof._core.Recording",
    .basicsize = sizeof(struct recording),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyObject *clp_api_recording_make_type(PyObject *module)
{
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}
