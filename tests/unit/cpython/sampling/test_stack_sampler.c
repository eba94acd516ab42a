/* SPDX-License-Identifier: MIT */
/* Stacks as they are read without the interpreter's lock, and what samples of a program say of its lines. */
#include "embedded.h"
#include "cpython/sampling/stack_sampler.h"
#include "engine/engine.h"
#include "engine/threads.h"
#include <sys/wait.h>
#include <unistd.h>

static struct clp_stack_reader reader;

/* ---- programs ---- */

static PyObject *names; /* of the program */

static void run(const char *program)
{
    PyObject *result = PyRun_String(program, Py_file_input, names, names);

    if (result == NULL)
        PyErr_Print();
    cr_assert_not_null(result);
    Py_DECREF(result);
}

static void begin(PyMethodDef *function)
{
    test_start_interpreter();
    names = PyDict_New();
    cr_assert_eq(PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()), 0);
    if (function != NULL)
        cr_assert_eq(PyDict_SetItemString(names, function->ml_name, PyCFunction_New(function, NULL)), 0);
}

static PyCodeObject *code_of(const char *function)
{
    PyObject *object = PyDict_GetItemString(names, function);

    cr_assert_not_null(object);
    return (PyCodeObject *)PyFunction_GetCode(object);
}

/* ---- reading ---- */

static bool is_of_program(const void *code)
{
    return code != NULL && PyCode_Check((PyObject *)(uintptr_t)code) &&
           PyUnicode_CompareWithASCIIString(((const PyCodeObject *)code)->co_filename, "<string>") == 0;
}

/* The frames that were read, from place *at on, must begin with this one; those of the interpreter's own are left out. */
static void expect_frame(const struct clp_stack *stack, size_t *at, PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);

    while (*at < stack->count && !is_of_program(stack->frames[*at].code))
        ++*at;
    cr_assert_lt(*at, stack->count, "the frame of %s was not read", PyUnicode_AsUTF8(code->co_name));
    cr_expect_eq(stack->frames[*at].code, code);
    cr_expect_eq((int)clp_raw_unit(code, stack->frames[(*at)++].instruction) * 2, PyFrame_GetLasti(frame));
    Py_DECREF(code);
}

static PyObject *look(PyObject *self, PyObject *nothing)
{
    struct clp_stack_hint hint = {0};
    struct clp_raw_thread thread;
    PyThreadState *state = PyThreadState_Get();
    PyFrameObject *frame = PyThreadState_GetFrame(state);
    size_t at = 0;

    (void)self;
    (void)nothing;
    const char *reason = clp_stack_reader_begin(&reader);
    cr_assert_null(reason, "%s", reason);
    for (int again = 0; again < 2; again++) {
        at = 0;
        cr_assert(clp_stack_reader_thread(&reader, state, state->prev, &thread));
        cr_expect(thread.holds_lock);
        cr_expect_eq(thread.number, (unsigned long)gettid());
        cr_assert(clp_stack_reader_read(&reader, &thread, &hint));
        for (PyFrameObject *walked = (PyFrameObject *)Py_NewRef(frame), *next; walked != NULL; walked = next) {
            expect_frame(&reader.stack, &at, walked);
            next = PyFrame_GetBack(walked);
            Py_DECREF(walked);
        }
    }
    Py_DECREF(frame);
    return PyLong_FromSize_t(at);
}

static PyMethodDef look_method = {"look", look, METH_NOARGS, NULL};

Test(python_stack_sampler, a_stack_is_read_as_the_interpreter_tells_it)
{
    begin(&look_method);
    run("def calls():\n"
        "    x = 1\n"
        "    return look()\n"
        "def generates():\n"
        "    yield 0\n"
        "    yield calls()\n"
        "def delegates():\n"
        "    yield from generates()\n"
        "class Calls:\n"
        "    def __init__(self):\n"
        "        self.seen = list(delegates())[1]\n"
        "def by_c(x):\n"
        "    return Calls().seen\n"
        "def deep(n):\n"
        "    return deep(n - 1) if n else sorted([1], key=by_c)\n"
        "calls()\n"
        "by_c(1)\n"
        "deep(0)\n"
        "deep(100)\n");
    cr_expect_geq(reader.stack.count, 100);
    cr_expect_not(reader.stack.cut);
}

/* A stack that is deeper than what is kept. The program cannot check all its frames, so it only looks at the innermost. */
static PyObject *look_deep(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    const char *reason = clp_stack_reader_begin(&reader);
    cr_assert_null(reason, "%s", reason);
    Py_RETURN_NONE;
}

static PyMethodDef look_deep_method = {"look", look_deep, METH_NOARGS, NULL};

Test(python_stack_sampler, a_deep_stack_is_cut)
{
    begin(&look_deep_method);
    run("def deep(n):\n"
        "    return deep(n - 1) if n else look()\n"
        "deep(400)\n");
    cr_expect_eq(reader.stack.count, CLP_STACK_MOST);
    cr_expect(reader.stack.cut);
    cr_expect_eq(reader.stack.frames[CLP_STACK_MOST - 1].code, code_of("deep"));
}

/* A second thread waits, in the function `waits`, for a lock that the main thread has. */
static PyObject *look_at_other(PyObject *self, PyObject *nothing)
{
    struct clp_stack_hint hint = {0};
    struct clp_raw_thread thread;
    PyThreadState *own = PyThreadState_Get(), *other = own->prev;

    (void)self;
    (void)nothing;
    const char *reason = clp_stack_reader_begin(&reader);
    cr_assert_null(reason, "%s", reason);
    cr_assert_not_null(other);
    cr_assert(clp_stack_reader_thread(&reader, other, other->prev, &thread));
    cr_expect_not(thread.holds_lock);
    cr_assert(clp_stack_reader_read(&reader, &thread, &hint));
    cr_assert_geq(reader.stack.count, 1);
    cr_expect_eq(reader.stack.frames[0].code, code_of("waits"));
    cr_expect_not(clp_stack_reader_thread(&reader, other, own, &thread), "it is not behind the main thread in the list");
    Py_RETURN_TRUE;
}

static PyMethodDef look_at_other_method = {"look", look_at_other, METH_NOARGS, NULL};

Test(python_stack_sampler, another_thread_waits)
{
    begin(&look_at_other_method);
    run("import _thread\n"
        "lock, began = _thread.allocate_lock(), _thread.allocate_lock()\n"
        "lock.acquire(); began.acquire()\n"
        "def waits():\n"
        "    began.release()\n"
        "    lock.acquire()\n"
        "_thread.start_new_thread(waits, ())\n"
        "began.acquire()\n"
        "assert look()\n"
        "lock.release()\n");
}

/* ---- samples ---- */

#define LINES 8
#define ENOUGH 20 /* samples */

static struct {
    struct clp_mem mem;
    struct clp_pages pages;
    struct clp_engine engine;
    struct clp_clock clock;
    struct clp_thread *thread;
    struct clp_stack_sampler sampler;
} profiler;

/* Selects a function of the program. Its lines have the numbers that they have in the program, from its first line on. */
static uint32_t select_function(const char *name)
{
    PyCodeObject *code = code_of(name);
    struct clp_function function = {.file = (char[]){"f.py"}, .name = (char *)(uintptr_t)name, .line_count = LINES};
    uint32_t units = (uint32_t)clp_compat_code_units(code), number = UINT32_MAX;
    uint32_t *cells = calloc(units, sizeof *cells);

    for (uint32_t i = 0; i < units; i++) {
        int line = PyCode_Addr2Line(code, (int)i * 2);
        cells[i] = line > code->co_firstlineno ? (uint32_t)(line - code->co_firstlineno) : CLP_NO_CELL;
    }
    cr_assert_eq(clp_functions_add(&profiler.engine.functions, &function, &number), CLP_OK);
    cr_assert(clp_sampled_code_add(&profiler.sampler, code, number, cells, units));
    free(cells);
    return number;
}

static PyObject *is_enough(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    return PyBool_FromLong(__atomic_load_n(&profiler.sampler.taken, __ATOMIC_RELAXED) >= ENOUGH);
}

static PyMethodDef is_enough_method = {"is_enough", is_enough, METH_NOARGS, NULL};

static void begin_profiler(void)
{
    begin(&is_enough_method);
    profiler.mem = clp_mem_system();
    profiler.clock = clp_clock_start();
    clp_engine_init(&profiler.engine, &profiler.mem, &profiler.pages);
    profiler.thread = clp_engine_new_thread(&profiler.engine, 0, 0);
    clp_stack_sampler_init(&profiler.sampler, &profiler.engine, &profiler.pages, &profiler.clock);
}

static void end_profiler(void)
{
    clp_stack_sampler_clear(&profiler.sampler);
    clp_engine_clear(&profiler.engine);
    cr_expect_eq(profiler.mem.bytes, 0);
    cr_expect_eq(profiler.pages.bytes, 0);
}

static void start(void)
{
    const char *reason = clp_stack_sampler_start(&profiler.sampler);

    cr_assert_null(reason, "%s", reason);
}

static struct clp_cell *cell_of(uint32_t function, uint32_t line)
{
    cr_assert(clp_engine_has_block(profiler.thread, function));
    return &profiler.thread->blocks[function]->cells[line];
}

Test(python_stack_sampler, the_line_that_runs_and_its_callers_get_the_time)
{
    begin_profiler();
    run("def works():\n"
        "    x = 0\n"
        "    while not is_enough(): x += 1\n"
        "def helps():\n"
        "    works()\n"
        "def calls():\n"
        "    x = 1\n"
        "    helps()\n");
    uint32_t works = select_function("works"), calls = select_function("calls");
    start();
    run("calls()\n");
    clp_stack_sampler_stop(&profiler.sampler);
    uint64_t most = clp_clock_read(&profiler.clock);
    clp_stack_sampler_settle(&profiler.sampler, profiler.thread);
    uint64_t self = cell_of(works, 2)->self;
    cr_expect_gt(self, 0);
    cr_expect_lt(self, most);
    cr_expect_eq(cell_of(works, 1)->self, 0);
    cr_expect_eq(cell_of(calls, 2)->self, 0);
    cr_expect_eq(cell_of(calls, 2)->nested, (int64_t)self);
    cr_expect_eq(profiler.thread->blocks[calls]->total, self);
    end_profiler();
}

/* What unselected code does counts for the selected line that called it; a thread that waits, waits. */
Test(python_stack_sampler, a_thread_that_waits_is_told_from_one_that_runs)
{
    begin_profiler();
    run("import _thread\n"
        "lock, began = _thread.allocate_lock(), _thread.allocate_lock()\n"
        "lock.acquire(); began.acquire()\n"
        "def waits():\n"
        "    began.release()\n"
        "    lock.acquire()\n"
        "def unselected():\n"
        "    while not is_enough(): pass\n"
        "def works():\n"
        "    unselected()\n");
    uint32_t waits = select_function("waits"), works = select_function("works");
    start();
    run("_thread.start_new_thread(waits, ())\n"
        "began.acquire()\n"
        "works()\n");
    clp_stack_sampler_stop(&profiler.sampler);
    run("lock.release()\n");
    clp_stack_sampler_settle(&profiler.sampler, profiler.thread);
    cr_expect_gt(cell_of(works, 1)->self, 0);
    cr_expect_gt(cell_of(waits, 2)->self, 0);
    cr_expect_gt(clp_block_cpu(profiler.thread->blocks[waits])[2].wait, 0);
    cr_expect_lt(clp_block_cpu(profiler.thread->blocks[works])[1].wait, cell_of(works, 1)->self);
    end_profiler();
}

Test(python_stack_sampler, code_that_was_removed_is_not_sampled)
{
    begin_profiler();
    run("def works():\n"
        "    while not is_enough(): pass\n"
        "def calls():\n"
        "    works()\n");
    uint32_t works = select_function("works"), calls = select_function("calls");
    clp_sampled_code_remove(&profiler.sampler, code_of("works"));
    start();
    run("calls()\n");
    clp_stack_sampler_stop(&profiler.sampler);
    clp_stack_sampler_settle(&profiler.sampler, profiler.thread);
    cr_expect_gt(cell_of(calls, 1)->self, 0);
    cr_expect_not(clp_engine_has_block(profiler.thread, works));
    end_profiler();
}

Test(python_stack_sampler, goes_on_after_a_fork)
{
    int status;

    begin_profiler();
    start();
    PyOS_BeforeFork();
    pid_t child = fork();
    cr_expect_not(profiler.sampler.helper.running, "a thread runs in a process that has just forked");
    if (child == 0) {
        PyOS_AfterFork_Child();
        clp_stack_sampler_after_fork(&profiler.sampler);
        bool runs = profiler.sampler.helper.running;
        clp_stack_sampler_stop(&profiler.sampler);
        _exit(runs ? 7 : 8);
    }
    PyOS_AfterFork_Parent();
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    run("for i in range(1000): pass\n");
    cr_expect(profiler.sampler.helper.running);
    end_profiler();
}
