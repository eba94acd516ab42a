/* SPDX-License-Identifier: MIT */
#include "target_selection.h"
#include "os/file.h"
#include "cpython/windows/prepare.h"
#include "cpython/object/profiler_run.h"
#include "bridge/console.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char me[] = CLP_RUN_NAME;

/* Calls MODULE.NAME(what), or MODULE.NAME(*what) if `what` is a tuple. Returns a new reference; None when anything
 * fails. Takes the reference to `what`. */
static PyObject *ask_module(const char *module, const char *name, PyObject *what)
{
    PyObject *helper = what != NULL ? clp_compat_own_module(module) : NULL;
    PyObject *answer = helper != NULL ? PyObject_CallMethod(helper, name, "O", what) : NULL;

    Py_XDECREF(what);
    Py_XDECREF(helper);
    if (answer != NULL)
        return answer;
    PyErr_Clear();
    return Py_NewRef(Py_None);
}

static PyObject *ask(const char *name, PyObject *what)
{
    return ask_module("clineprof._boot.targets", name, what);
}

static void warn(const struct clp_target_selection *chosen, const char *target, const char *what,
                 PyObject *more)
{
    const char *text = more != Py_None && PyUnicode_Check(more) ? PyUnicode_AsUTF8(more) : NULL;
    struct clp_buf line;

    PyErr_Clear();
    clp_buf_init(&line, chosen->mem);
    clp_buf_add_format(&line, "-p %s: ", target);
    clp_buf_add_format(&line, what, text != NULL ? text : "");
    clp_console_complain(me, clp_buf_text(&line));
    clp_buf_clear(&line);
}

/* ---- the targets ---- */

static bool is_path(const char *text)
{
    size_t bytes = strlen(text);

    return strchr(text, '/') != NULL || (bytes > 3 && strcmp(text + bytes - 3, ".py") == 0) ||
           clp_targets_object(text) != NULL;
}

static bool same_file(const char *one, const char *other)
{
    char one_resolved[PATH_MAX], other_resolved[PATH_MAX];

    return realpath(one, one_resolved) != NULL && realpath(other, other_resolved) != NULL &&
           strcmp(one_resolved, other_resolved) == 0;
}

static bool is_program(const char *text, const struct clp_run_options *options)
{
    if (options->target_kind == CLP_TARGET_SCRIPT)
        return same_file(text, options->target);
    return options->target_kind == CLP_TARGET_MODULE && strcmp(text, options->target) == 0;
}

static bool has_program(const struct clp_run_options *options)
{
    for (size_t i = 0; i < options->prof_mod.count; i++) {
        if (is_program(options->prof_mod.items[i], options))
            return true;
    }
    return false;
}

/* The names that the script imports: a new list of str, or None when the script cannot be read. */
static PyObject *imports_of(struct clp_mem *mem, const char *script)
{
    struct clp_buf source;
    struct clp_fault fault;
    PyObject *names = NULL;

    clp_buf_init(&source, mem);
    if (clp_file_read(script, SIZE_MAX, &source, &fault) == CLP_OK)
        names = ask("imported_by", PyBytes_FromStringAndSize(clp_buf_text(&source),
                                                             (Py_ssize_t)source.used));
    clp_buf_clear(&source);
    return names != NULL ? names : Py_NewRef(Py_None);
}

/* The targets that --prof-imports adds: a new list of str, or NULL with an exception set. */
static PyObject *imported_names(struct clp_mem *mem, const struct clp_run_options *options)
{
    PyObject *names;

    if (!options->prof_imports || !has_program(options))
        return PyList_New(0);
    if (options->target_kind == CLP_TARGET_SCRIPT)
        names = imports_of(mem, options->target);
    else
        names = ask("imported_by_module", PyUnicode_DecodeFSDefault(options->target));
    if (!PyList_Check(names))
        Py_SETREF(names, PyList_New(0));
    return names;
}

static bool init_targets(struct clp_target_selection *chosen, const struct clp_run_options *options)
{
    struct clp_targets *targets = &chosen->imports.targets;
    size_t given = options->prof_mod.count;
    size_t count = given + (size_t)PyList_GET_SIZE(chosen->imported);
    const char **items = clp_mem_alloc(chosen->mem, count + 1, sizeof *items);
    bool done = items != NULL;

    for (size_t i = 0; done && i < given; i++)
        items[i] = options->prof_mod.items[i];
    for (size_t i = given; done && i < count; i++)
        done = (items[i] = PyUnicode_AsUTF8(PyList_GET_ITEM(chosen->imported,
                                                            (Py_ssize_t)(i - given)))) != NULL;
    if (done && clp_targets_init(targets, chosen->mem, items, count) == CLP_OK) {
        for (size_t i = given; i < count; i++)
            targets->items[i].settled = true; /* the user has not named this target, so no warning is due */
        targets->included = options->include.items;
        targets->excluded = options->exclude.items;
    } else if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    clp_mem_free(chosen->mem, items, count + 1, sizeof *items);
    return !PyErr_Occurred();
}

/* Appends the name of the script's file without .py. It is the script's name as a module, so that `-p script.function`
 * works. */
static void name_script(struct clp_buf *name, const struct clp_run_options *options)
{
    const char *slash = strrchr(options->target, '/');
    const char *file = slash != NULL ? slash + 1 : options->target;
    size_t bytes = strlen(file);

    if (bytes > 3 && strcmp(file + bytes - 3, ".py") == 0)
        bytes -= 3;
    clp_buf_add(name, file, bytes);
}

/* ---- imports before the run ---- */

/* Is the module a package? Then `-m NAME` runs its __main__, not the package itself. */
static bool is_package(const char *name)
{
    PyObject *answer = ask("is_package", PyUnicode_DecodeFSDefault(name));

    Py_DECREF(answer);
    return answer == Py_True;
}

/* Is the target the program itself, or something in it? Such a target is not imported first: runpy warns when a module
 * that it runs has been imported before, and a script is found without an import. */
static bool is_in_program(const struct clp_target_selection *chosen, const char *text,
                          const struct clp_run_options *options)
{
    bool module = options->target_kind == CLP_TARGET_MODULE;
    const char *name = module ? options->target : clp_buf_text(&chosen->script);
    size_t bytes = strlen(name);

    if (strncmp(text, name, bytes) != 0 || (text[bytes] != 0 && text[bytes] != '.'))
        return false;
    return !module || text[bytes] == 0 || strncmp(text + bytes, ".__main__", 9) == 0 ||
           !is_package(name);
}

static void import_targets(struct clp_target_selection *chosen, const struct clp_run_options *options)
{
    for (size_t i = 0; i < options->prof_mod.count; i++) {
        const char *text = options->prof_mod.items[i];
        if (is_path(text) || is_in_program(chosen, text, options))
            continue;
        PyObject *failure = ask("preimport", PyUnicode_DecodeFSDefault(text));
        if (failure != Py_None) {
            warn(chosen, text, "cannot be imported before the program runs: %s", failure);
            chosen->imports.targets.items[i].settled = true;
        }
        Py_DECREF(failure);
    }
}

static bool chooses_it(void *data, PyCodeObject *code, const char *name)
{
    (void)data, (void)code, (void)name;
    return true;
}

/* Selects functions that the targets' modules have imported from elsewhere in their package, as line_profiler does.
 * False with an exception set. */
static bool select_from_packages(const struct clp_target_selection *chosen)
{
    static const struct clp_chooser all = {chooses_it, NULL};
    bool done = true;

    for (size_t i = 0; done && i < chosen->imports.targets.count; i++) {
        const char *text = chosen->imports.targets.items[i].text;
        PyObject *found = ask("from_its_package", PyUnicode_DecodeFSDefault(text));
        for (Py_ssize_t k = 0; done && PyList_Check(found) && k < PyList_GET_SIZE(found); k++)
            done = clp_profiler_prepare_function(chosen->imports.profiler,
                                                 PyList_GET_ITEM(found, k), &all);
        Py_DECREF(found);
    }
    return done;
}

/* ---- the selection ---- */

/* Chooses functions that are defined in a decorated function, unless --exclude names them. */
static bool is_not_excluded(void *targets, PyCodeObject *code, const char *name)
{
    (void)code;
    return !clp_targets_exclude_name(targets, name);
}

bool clp_target_selection_begin(struct clp_target_selection *chosen, struct clp_mem *mem,
                                const struct clp_run_options *options, PyObject *profiler)
{
    *chosen = (struct clp_target_selection){.mem = mem, .imports.profiler = profiler};
    chosen->without_file = options->target_kind == CLP_TARGET_CODE ||
                           options->target_kind == CLP_TARGET_STDIN;
    chosen->program = chosen->without_file ? "" : options->target;
    clp_buf_init(&chosen->script, mem);
    if (options->target_kind == CLP_TARGET_SCRIPT)
        name_script(&chosen->script, options);
    chosen->imported = imported_names(mem, options);
    if (chosen->imported == NULL || !init_targets(chosen, options) ||
        !clp_imports_watch(&chosen->imports))
        return false;
    chosen->within = (struct clp_chooser){is_not_excluded, &chosen->imports.targets};
    clp_profiler_choose_within(profiler, &chosen->within);
    clp_imports_hand_over(&chosen->imports);
    if (chosen->imports.targets.count == 0)
        return true;
    if (!clp_imports_select_loaded(&chosen->imports))
        return false;
    if (options->no_preimports)
        return true;
    import_targets(chosen, options);
    return clp_imports_select_loaded(&chosen->imports) && /* modules that no wrapped loader gave, such as frozen ones */
           select_from_packages(chosen);
}

/* Chooses what `def` defines, unless --include or --exclude leave it out. Classes and lambdas are not chosen. */
static bool chooses_functions(void *targets, PyCodeObject *code, const char *name)
{
    struct clp_candidate candidate = {"__main__", NULL, name};

    return (code->co_flags & CO_OPTIMIZED) != 0 && PyUnicode_READ_CHAR(code->co_name, 0) != '<' &&
           clp_targets_want(targets, &candidate);
}

PyObject *clp_target_selection_script(struct clp_target_selection *chosen, PyObject *code)
{
    struct clp_chooser functions = {chooses_functions, &chosen->imports.targets};

    if (chosen->without_file)
        return clp_profiler_prepare(chosen->imports.profiler, code, &functions, NULL);
    return clp_imports_code(&chosen->imports, code, clp_buf_text(&chosen->script));
}

const char *clp_target_selection_by(const struct clp_target_selection *chosen, const char *file, const char *name)
{
    const struct clp_target *target = clp_imports_target_of(&chosen->imports, file, name);

    return target != NULL ? target->text : NULL;
}

static const char *leaves_out(const struct clp_targets *targets)
{
    return targets->included == NULL   ? "--exclude leaves out all of it that ran"
           : targets->excluded == NULL ? "--include leaves out all of it that ran"
                                       : "--include and --exclude leave out all of it that ran";
}

bool clp_target_selection_has_left_out(const struct clp_target_selection *chosen)
{
    const struct clp_targets *targets = &chosen->imports.targets;

    for (size_t i = 0; i < targets->count; i++)
        if (targets->items[i].left_out != 0)
            return true;
    return false;
}

/* The warning about a target that no code matched; %s in it is the most similar name, if there is one (not None). */
static const char *why_unmatched(const struct clp_targets *targets, const char *text, const PyObject *nearest)
{
    if (nearest != Py_None)
        return "no Python code of that name ran; did you mean %s?";
    PyObject *there = is_path(text) && targets->included == NULL && targets->excluded == NULL
                          ? ask("is_there", PyUnicode_DecodeFSDefault(text))
                          : Py_NewRef(Py_False);
    Py_DECREF(there);
    return there == Py_True ? "no Python code of it was imported or run as the script; what exec() and "
                              "runpy.run_path() run cannot be selected"
                            : "no Python code of that name ran";
}

/* Tells why nothing was selected that this target names. */
static void explain(const struct clp_target_selection *chosen, const struct clp_target *target)
{
    const char *text = target->text, *misses = clp_process_misses_cython();
    PyObject *cython, *nearest = NULL;

    if (target->left_out != 0) {
        warn(chosen, text, leaves_out(&chosen->imports.targets), Py_None);
        return;
    }
    cython = ask_module("clineprof._boot.cython", "why_unseen",
                        Py_BuildValue("(Nz)", PyUnicode_DecodeFSDefault(text), misses));
    if (cython != Py_None) {
        warn(chosen, text, "%s", cython);
    } else {
        nearest = ask("nearest", Py_BuildValue("(NN)", PyUnicode_DecodeFSDefault(text),
                                               PyUnicode_DecodeFSDefault(chosen->program)));
        warn(chosen, text, why_unmatched(&chosen->imports.targets, text, nearest), nearest);
    }
    Py_DECREF(cython);
    Py_XDECREF(nearest);
}

void clp_target_selection_end(const struct clp_target_selection *chosen)
{
    const struct clp_targets *targets = &chosen->imports.targets;

    for (size_t i = 0; i < targets->count; i++)
        if (targets->items[i].matched == 0 && !targets->items[i].settled)
            explain(chosen, &targets->items[i]);
}
