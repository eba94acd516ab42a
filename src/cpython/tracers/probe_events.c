/* SPDX-License-Identifier: MIT */
#include "probe_events.h"
#include "cpython/recorder/callers.h"
#include "cpython/recorder/ranges.h"
#include "cpython/recorder/recorder.h"
#include "cpython/code/statements.h"
#include "cpython/recorder/stays.h"
#include "engine/called.h"

#if CLP_HAS_PROBES

static const struct clp_selected *selected_of(PyObject *probe)
{
    return ((struct clp_probe_object *)probe)->selected;
}

/* Each event comes in two forms, for the processor's counter and for the system's clock, so that it need not
 * ask which is used. Rare cases are functions of their own, which are not inlined: then the common case needs
 * no stack frame. */

#define RARE __attribute__((noinline, cold))
#define INLINE inline __attribute__((always_inline))

static INLINE uint64_t read_clock(bool counter)
{
    return counter ? clp_clock_counter() : clp_clock_monotonic();
}

/* The identity of the running body, or NULL for a body that is never suspended: its probes tell of each exit. */
static INLINE const void *frame_of(const struct clp_selected *selected)
{
    return selected->suspends ? clp_compat_running_frame(PyThreadState_Get()) : NULL;
}

/* The calling thread; NULL when nobody counts the function, or there is no memory. */
static INLINE struct clp_thread *recording_thread(const struct clp_selected *selected)
{
    return CLP_LIKELY(clp_recorder_counts(selected)) ? clp_recorder_thread(selected->recorder)
                                                     : NULL;
}

static INLINE bool on_top(const struct clp_thread *thread, const struct clp_selected *selected)
{
    return CLP_LIKELY(thread != NULL && thread->top->code == selected->identity);
}

/* Brings a body of the selected code to the top, where another body was found. Returns the thread, or NULL. */
RARE static struct clp_thread *aligned(const struct clp_selected *selected)
{
    struct clp_thread *thread =
        clp_recorder_is_outside(selected->recorder) ? NULL : recording_thread(selected);

    return thread != NULL && clp_recorder_align(selected, thread, frame_of(selected)) ? thread
                                                                                       : NULL;
}

RARE static PyObject *line_elsewhere(const struct clp_probe_object *probe)
{
    struct clp_thread *thread = aligned(probe->selected);

    if (thread != NULL) {
        clp_recorder_line(probe->selected->recorder, thread, probe->line);
        clp_blocks_lower(probe->selected->recorder, thread);
    }
    Py_RETURN_NONE;
}

RARE static PyObject *line_with_memory(const struct clp_probe_object *probe, struct clp_thread *thread)
{
    clp_recorder_line(probe->selected->recorder, thread, probe->line);
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *line_special(const struct clp_probe_object *probe,
                                                        struct clp_thread *thread, uint64_t at)
{
    clp_engine_line_special(thread, probe->place, at);
    Py_RETURN_NONE;
}

static INLINE PyObject *begin_line(const struct clp_probe_object *probe, bool counter)
{
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(!on_top(thread, probe->selected)))
        return line_elsewhere(probe);
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_read(thread, now)))
        return line_with_memory(probe, thread);
    uint64_t at = now - thread->stopped;
    if (CLP_UNLIKELY(!clp_engine_line_plain(thread, probe->place, at)))
        return line_special(probe, thread, at);
    Py_RETURN_NONE;
}

/* Enters a body in any case: at the thread's first event, at the function's first entry in the thread, when
 * memory must be read, for a generator, or in a recursion. */
static __attribute__((noinline)) PyObject *enter_anyhow(const struct clp_probe_object *probe, bool with_line)
{
    const struct clp_selected *selected = probe->selected;
    struct clp_thread *thread = recording_thread(selected);

    if (thread == NULL)
        Py_RETURN_NONE;
    if (with_line)
        clp_recorder_enter_line(selected, thread, frame_of(selected), probe->line);
    else
        clp_recorder_enter(selected, thread, frame_of(selected));
    Py_RETURN_NONE;
}

static INLINE PyObject *enter_line(const struct clp_probe_object *probe, bool counter)
{
    const struct clp_selected *selected = probe->selected;
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(thread == NULL || selected->audience->slow || !clp_recorder_counts(selected) ||
                     !clp_engine_has_block(thread, selected->function)))
        return enter_anyhow(probe, true);
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_read(thread, now) ||
                     !clp_engine_enter_plain(thread, thread->blocks[selected->function],
                                             selected->identity, probe->place,
                                             now - thread->stopped)))
        return enter_anyhow(probe, true);
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *leave_with_memory(struct clp_thread *thread)
{
    clp_recorder_leave(thread);
    Py_RETURN_NONE;
}

/* The body was on top by itself, so none of its blocks is lifted (stays.h). */
static __attribute__((noinline)) PyObject *leave_special(struct clp_thread *thread, uint64_t now)
{
    clp_engine_leave(thread, now);
    Py_RETURN_NONE;
}

/* Leaves a body that is not on top, if it only is hidden there. */
RARE static PyObject *leave_hidden(const struct clp_selected *selected)
{
    struct clp_thread *thread = clp_thread_here;

    clp_ranges_catch_up(); /* another thread may have ended the counting */
    return clp_recorder_show(selected, thread, frame_of(selected)) ? leave_with_memory(thread) : Py_NewRef(Py_None);
}

static INLINE PyObject *leave(const struct clp_probe_object *probe, bool counter)
{
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(!on_top(thread, probe->selected)))
        return leave_hidden(probe->selected);
    if (CLP_UNLIKELY(probe->selected->audience->slow))
        clp_recorder_note_return(thread);
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_read(thread, now)))
        return leave_with_memory(thread);
    if (CLP_UNLIKELY(!clp_engine_leave_plain(thread, now - thread->stopped)))
        return leave_special(thread, now);
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *last_line_with_memory(const struct clp_probe_object *probe,
                                                                 struct clp_thread *thread)
{
    clp_recorder_last_line(thread, probe->line);
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *last_line_special(const struct clp_probe_object *probe,
                                                             struct clp_thread *thread, uint64_t now)
{
    clp_engine_last_line(thread, probe->line, now);
    Py_RETURN_NONE;
}

static INLINE PyObject *last_line(const struct clp_probe_object *probe, bool counter)
{
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(!on_top(thread, probe->selected))) {
        thread = aligned(probe->selected);
        return thread != NULL ? last_line_with_memory(probe, thread) : Py_NewRef(Py_None);
    }
    if (CLP_UNLIKELY(probe->selected->audience->slow))
        clp_recorder_note_return(thread);
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_read(thread, now)))
        return last_line_with_memory(probe, thread);
    if (CLP_UNLIKELY(!clp_engine_last_line_plain(thread, probe->place, now - thread->stopped)))
        return last_line_special(probe, thread, now);
    Py_RETURN_NONE;
}

/* Suspends a body that is not on top, because one of its blocks may be, or it is hidden. */
RARE static PyObject *suspend_below(const struct clp_probe_object *probe, struct clp_thread *thread)
{
    if (thread != NULL) {
        clp_blocks_lift(probe->selected->recorder, thread);
        if (on_top(thread, probe->selected) ||
            clp_recorder_show(probe->selected, thread, frame_of(probe->selected)))
            clp_recorder_suspend(thread);
    }
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *suspend_with_memory(struct clp_thread *thread)
{
    clp_recorder_suspend(thread);
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *suspend_special(struct clp_thread *thread, uint64_t now)
{
    clp_engine_suspend(thread, now);
    Py_RETURN_NONE;
}

static INLINE PyObject *suspend(const struct clp_probe_object *probe, bool counter)
{
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(!on_top(thread, probe->selected)))
        return suspend_below(probe, thread);
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_read(thread, now)))
        return suspend_with_memory(thread);
    if (CLP_UNLIKELY(!clp_engine_suspend_plain(thread, now)))
        return suspend_special(thread, now);
    Py_RETURN_NONE;
}

static __attribute__((noinline)) PyObject *resume_anyhow(const struct clp_selected *selected)
{
    struct clp_thread *thread = recording_thread(selected);

    if (thread != NULL)
        clp_recorder_resume(selected, thread, frame_of(selected));
    Py_RETURN_NONE;
}

/* Resumes another body than the one that was resumed last, or from another line. */
static __attribute__((noinline)) PyObject *resume_other(const struct clp_selected *selected, struct clp_thread *thread,
                                                        const void *frame, uint64_t now)
{
    clp_recorder_note_code(clp_engine_resume(thread, selected->function, frame, now), selected);
    clp_callers_note(selected->recorder, thread);
    Py_RETURN_NONE;
}

static INLINE PyObject *resume(const struct clp_probe_object *probe, bool counter)
{
    const struct clp_selected *selected = probe->selected;
    struct clp_thread *thread = clp_thread_here;

    if (CLP_UNLIKELY(thread == NULL || !clp_recorder_counts(selected) ||
                     !clp_engine_has_block(thread, selected->function) || selected->recorder->blocks.stays != NULL))
        return resume_anyhow(selected);
    struct clp_block *block = thread->blocks[selected->function];
    const void *frame = clp_compat_running_frame(PyThreadState_Get());
    uint64_t now = read_clock(counter);
    if (CLP_UNLIKELY(clp_engine_wants_read(thread, now)))
        return resume_anyhow(selected);
    struct clp_activation *top = clp_engine_resume_plain(thread, block, selected->identity, frame, now);
    if (CLP_UNLIKELY(top == NULL))
        return resume_other(selected, thread, frame, now);
    Py_RETURN_NONE;
}

/* Bits in the argument of RESUME that say where the body resumes: at its start, at a yield, at a `yield from`
 * or at an await. */
#define RESUME_FROM 3
#define RESUME_FROM_YIELD 1

/* The place in the running body of what the interpreter raises again, in bytes; -1 when it is not known. It
 * comes as a number of units or, since 3.14, as the exception itself. */
static int place_of(PyObject *raised)
{
    PyObject *traceback;
    int place = -1;

    if (PyLong_Check(raised))
        return (int)PyLong_AsLong(raised) * 2;
    traceback = PyException_GetTraceback(raised);
    if (traceback != NULL && ((PyTracebackObject *)traceback)->tb_frame == clp_compat_frame_here())
        place = ((PyTracebackObject *)traceback)->tb_lasti;
    Py_XDECREF(traceback);
    return place;
}

/* Does the exception begin the line of each handler that it comes to? Since 3.14 it does if it was thrown into
 * the body: its place is then the RESUME of a yield. (An exception from a delegate is raised again behind that
 * RESUME.) */
static bool begins_lines(const struct clp_recorder *recorder, PyCodeObject *code, int place)
{
    PyObject *bytes = CLP_THROWN_BEGINS_AGAIN && place >= 0 ? PyCode_GetCode(code) : NULL;
    bool thrown = false;

    if (bytes != NULL && place + 1 < PyBytes_GET_SIZE(bytes)) {
        const uint8_t *unit = (const uint8_t *)PyBytes_AS_STRING(bytes) + place;
        thrown = unit[0] == recorder->bytecode.resume && (unit[1] & RESUME_FROM) == RESUME_FROM_YIELD;
    }
    Py_XDECREF(bytes);
    return thrown;
}

int clp_probe_line_of_raised(const struct clp_selected *selected, PyObject *raised)
{
    struct clp_recorder *recorder = selected->recorder;
    PyFrameObject *frame = clp_compat_frame_here(); /* borrowed */
    PyCodeObject *code = frame != NULL ? PyFrame_GetCode(frame) : NULL;
    int place = place_of(raised);

    if (code == NULL)
        return CLP_NO_LINE;
    int line = place >= 0 && !begins_lines(recorder, code, place) ? PyCode_Addr2Line(code, place)
                                                                  : CLP_NO_LINE;
    if (recorder->statements != NULL) {
        struct clp_statements statements = clp_statements_of(recorder->statements, selected->text);
        line = clp_statements_line(&statements, code->co_firstlineno, line);
    }
    PyErr_Clear();
    Py_DECREF(code);
    return line;
}

PyObject *clp_probe_add_raised(PyObject *self, PyObject *raised)
{
    const struct clp_probe_object *probe = (const struct clp_probe_object *)self;
    struct clp_thread *thread = clp_thread_here;

    if (clp_probe_line_of_raised(probe->selected, raised) == probe->line)
        Py_RETURN_NONE;
    return on_top(thread, probe->selected) ? line_with_memory(probe, thread)
                                           : line_elsewhere(probe);
}

/* ---- calls and operators ---- */

/* The thread, if the body on top is the probe's and counts what it calls; else NULL. */
static INLINE struct clp_thread *calling_thread(const struct clp_probe_object *probe)
{
    struct clp_thread *thread = clp_thread_here;

    return on_top(thread, probe->selected) && clp_called_counts(thread) ? thread : NULL;
}

static INLINE bool is_known(const struct clp_probe_object *probe, struct clp_callee_key key)
{
    return CLP_LIKELY(key.what != NULL && key.what == probe->key.what && key.more == probe->key.more);
}

/* Finds out what is called, and whether its time counts. */
static __attribute__((noinline)) void find_callee(struct clp_probe_object *probe, PyObject *operand,
                                                  struct clp_callee_key key, PyObject *name)
{
    struct clp_recorder *recorder = probe->selected->recorder;

    probe->key = key;
    probe->counts = name != NULL ? clp_callee_of_method(recorder, operand, name, &probe->callee)
                                 : clp_callee_of(recorder, operand, &probe->callee);
}

/* Is the operand the callable itself? It may also be the object of a method. */
static INLINE bool is_callable_itself(const struct clp_probe_object *probe, PyObject *operand)
{
    return probe->name == NULL || PyFunction_Check(operand) || PyCFunction_CheckExact(operand);
}

static INLINE int call(struct clp_probe_object *probe, PyObject *operand, bool counter)
{
    struct clp_thread *thread = calling_thread(probe);

    if (thread == NULL)
        return 0;
    bool itself = is_callable_itself(probe, operand);
    struct clp_callee_key key = itself ? clp_callee_key_of(operand) : clp_callee_key_of_type(Py_TYPE(operand));
    if (!is_known(probe, key))
        find_callee(probe, operand, key, itself ? NULL : probe->name);
    if (CLP_LIKELY(probe->counts))
        clp_called_begin(thread, probe->callee, read_clock(counter));
    else
        clp_called_skip(thread);
    return 0;
}

static INLINE PyObject *called(const struct clp_probe_object *probe, bool counter)
{
    struct clp_thread *thread = calling_thread(probe);

    if (thread != NULL && clp_called_ends(thread))
        clp_called_end(thread, read_clock(counter));
    clp_compat_watch_frames();
    Py_RETURN_NONE;
}

/* Events of lines in code with probes around operators. An operator may follow them without a mark. */

static INLINE PyObject *begin_watched_line(const struct clp_probe_object *probe, bool counter)
{
    PyObject *none = begin_line(probe, counter);

    clp_compat_watch_frames();
    return none;
}

static INLINE PyObject *enter_watched_line(const struct clp_probe_object *probe, bool counter)
{
    PyObject *none = enter_line(probe, counter);

    clp_compat_watch_frames();
    return none;
}

static INLINE PyObject *mark(const struct clp_probe_object *probe, bool counter)
{
    struct clp_thread *thread = calling_thread(probe);

    if (thread != NULL)
        clp_called_mark(thread, read_clock(counter));
    clp_compat_watch_frames();
    Py_RETURN_NONE;
}

static INLINE PyObject *operated(const struct clp_probe_object *probe, bool counter)
{
    uint64_t now = read_clock(counter);
    struct clp_thread *thread = calling_thread(probe);
    struct clp_callee callee = probe->callee;

    if (CLP_UNLIKELY(clp_compat_saw_frame()))
        callee.kind = CLP_CALLED_LIBRARY;
    if (thread != NULL)
        clp_called_since(thread, callee, thread->engine->around.operated, now);
    clp_compat_watch_frames();
    Py_RETURN_NONE;
}

/* Generators are of one type, so each is told apart by its code. */
static INLINE struct clp_callee_key key_of_iterator(PyObject *iterator)
{
    if (CLP_UNLIKELY(PyGen_CheckExact(iterator))) {
        PyObject *code = clp_compat_generator_code(iterator); /* borrowed */
        return (struct clp_callee_key){code, (uintptr_t)((PyCodeObject *)code)->co_name};
    }
    return clp_callee_key_of_type(Py_TYPE(iterator));
}

static INLINE int iterated(struct clp_probe_object *probe, PyObject *iterator, bool counter)
{
    uint64_t now = read_clock(counter);
    struct clp_thread *thread = calling_thread(probe);

    if (thread == NULL)
        return 0;
    struct clp_callee_key key = key_of_iterator(iterator);
    if (!is_known(probe, key)) {
        probe->key = key;
        probe->counts = clp_callee_of_iterator(probe->selected->recorder, iterator, &probe->callee);
    }
    if (CLP_LIKELY(probe->counts))
        clp_called_since(thread, probe->callee, thread->engine->around.iterated, now);
    clp_compat_watch_frames();
    return 0;
}

#define BOTH_CLOCKS_OPERAND(name, event)                                    \
    static int name##_counter(PyObject *self, PyObject *operand)            \
    {                                                                       \
        return event((struct clp_probe_object *)self, operand, true);       \
    }                                                                       \
    static int name##_system(PyObject *self, PyObject *operand)             \
    {                                                                       \
        return event((struct clp_probe_object *)self, operand, false);      \
    }

BOTH_CLOCKS_OPERAND(on_call, call)
BOTH_CLOCKS_OPERAND(on_iterated, iterated)

#define BOTH_CLOCKS(name, event)                                                  \
    static PyObject *name##_counter(PyObject *self)                               \
    {                                                                             \
        const struct clp_probe_object *probe = (const struct clp_probe_object *)self; \
        const bool counter = true;                                                \
        return event;                                                             \
    }                                                                             \
    static PyObject *name##_system(PyObject *self)                                \
    {                                                                             \
        const struct clp_probe_object *probe = (const struct clp_probe_object *)self; \
        const bool counter = false;                                               \
        return event;                                                             \
    }

BOTH_CLOCKS(on_line, begin_line(probe, counter))
BOTH_CLOCKS(on_enter_line, enter_line(probe, counter))
BOTH_CLOCKS(on_last_line, last_line(probe, counter))
BOTH_CLOCKS(on_leave, leave(probe, counter))
BOTH_CLOCKS(on_suspend, suspend(probe, counter))
BOTH_CLOCKS(on_resume, resume(probe, counter))
BOTH_CLOCKS(on_called, called(probe, counter))
BOTH_CLOCKS(on_watched_line, begin_watched_line(probe, counter))
BOTH_CLOCKS(on_enter_watched_line, enter_watched_line(probe, counter))
BOTH_CLOCKS(on_mark, mark(probe, counter))
BOTH_CLOCKS(on_operated, operated(probe, counter))

static PyObject *on_enter(PyObject *self)
{
    return enter_anyhow((const struct clp_probe_object *)self, false);
}

/* The event where a delegation has ended: resumes the body if it is not running. After throw() 3.11 continues
 * here without any resumption. */
static PyObject *on_resume_if(PyObject *self)
{
    const struct clp_selected *selected = selected_of(self);
    struct clp_thread *thread = clp_thread_here;

    if (CLP_LIKELY(thread != NULL && thread->top->frame == frame_of(selected)))
        Py_RETURN_NONE;
    return resume_anyhow(selected);
}

#define SAME(name, event) {"clineprof._core." name, event, event, NULL, NULL}
#define NEGATIVE(name, event) {"clineprof._core." name, event##_counter, event##_system, NULL, NULL}
#define OPERAND(name, event) {"clineprof._core." name, NULL, NULL, event##_counter, event##_system}

const struct clp_probe_event clp_probe_events[CLP_PROBE_KINDS] = {
    [CLP_PROBE_ENTER] = SAME("EnterProbe", on_enter),
    [CLP_PROBE_ENTER_LINE] = NEGATIVE("EnterLineProbe", on_enter_line),
    [CLP_PROBE_LINE] = NEGATIVE("LineProbe", on_line),
    [CLP_PROBE_LAST_LINE] = NEGATIVE("LastLineProbe", on_last_line),
    [CLP_PROBE_LEAVE] = NEGATIVE("LeaveProbe", on_leave),
    [CLP_PROBE_SUSPEND] = NEGATIVE("SuspendProbe", on_suspend),
    [CLP_PROBE_RESUME] = NEGATIVE("ResumeProbe", on_resume),
    [CLP_PROBE_RESUME_IF] = SAME("ResumeIfProbe", on_resume_if),
    [CLP_PROBE_LINE_ASKED] = SAME("AskedLineProbe", NULL),
    [CLP_PROBE_CALL] = OPERAND("CallProbe", on_call),
    [CLP_PROBE_CALLED] = NEGATIVE("CalledProbe", on_called),
    [CLP_PROBE_MARK] = NEGATIVE("MarkProbe", on_mark),
    [CLP_PROBE_OPERATED] = NEGATIVE("OperatedProbe", on_operated),
    [CLP_PROBE_ITERATED] = OPERAND("IteratedProbe", on_iterated),
};

const struct clp_probe_event clp_probe_watched_events[CLP_PROBE_KINDS] = {
    [CLP_PROBE_ENTER_LINE] = NEGATIVE("EnterLineProbe", on_enter_watched_line),
    [CLP_PROBE_LINE] = NEGATIVE("LineProbe", on_watched_line),
};

#endif
