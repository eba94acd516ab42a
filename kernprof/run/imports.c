/* SPDX-License-Identifier: MIT */
/* The import system and runpy take a module's code from get_code of its loader, which writes the cached bytecode
 * itself. So get_code is wrapped in the loaders of source files, of compiled files and of archives. A program's own
 * loader with another get_code imports as without the profiler; only pytest's is known (clp_imports_exec). */
#include "imports.h"
#include "cpython/object/profiler_run.h"
#include "cpython/windows/modules.h"
#include <stdlib.h>
#include <string.h>

/* ---- choosing ---- */

struct choice {
    const struct clp_imports *imports;
    struct clp_targets *targets; /* those of `imports` */
    struct clp_candidate candidate;
};

static bool chooses(void *data, PyCodeObject *code, const char *name)
{
    struct choice *choice = data;

    (void)code;
    choice->candidate.name = name;
    /* without a profiler another thread has stopped watching, and may have freed the targets */
    return choice->imports->profiler != NULL && clp_targets_select(choice->targets, &choice->candidate);
}

/* Resolves a path that Python gives. Returns `resolved`, or NULL when the path cannot be resolved. */
static const char *resolve(PyObject *file, char resolved[PATH_MAX])
{
    PyObject *path = NULL;
    const char *found = NULL;

    if (PyUnicode_FSConverter(file, &path))
        found = clp_targets_resolve(PyBytes_AS_STRING(path), resolved) ? resolved : NULL;
    PyErr_Clear();
    Py_XDECREF(path);
    return found;
}

static char *copied(struct clp_mem *mem, const char *text)
{
    return text != NULL ? clp_mem_copy_text(mem, text, strlen(text)) : NULL;
}

static bool is_seen(const struct clp_imports *imports, const char *name)
{
    for (size_t i = 0; i < imports->seen_count; i++) {
        if (imports->seen[i].name != NULL && strcmp(imports->seen[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool is_remembered(const struct clp_imports *imports, const char *code_file, const char *module)
{
    for (size_t i = 0; i < imports->seen_count; i++) {
        const struct clp_seen_module *seen = &imports->seen[i];
        if (seen->code_file != NULL && seen->name != NULL && strcmp(seen->code_file, code_file) == 0 &&
            strcmp(seen->name, module) == 0)
            return true;
    }
    return false;
}

/* Remembers a module in which something may be selected. Without memory the module is not remembered, and -vv cannot
 * tell which target selected its functions. */
static void remember(struct clp_imports *imports, PyObject *file,
                     const struct clp_candidate *candidate)
{
    struct clp_mem *mem = imports->targets.mem;
    const char *code_file = PyUnicode_AsUTF8(file);

    PyErr_Clear();
    if (code_file == NULL || is_remembered(imports, code_file, candidate->module) ||
        (imports->seen_count == imports->seen_room &&
         clp_mem_grow(mem, (void **)&imports->seen, &imports->seen_room,
                      imports->seen_room * 2 + 16, sizeof *imports->seen) != CLP_OK))
        return;
    imports->seen[imports->seen_count++] = (struct clp_seen_module){
        .code_file = copied(mem, code_file),
        .file = copied(mem, candidate->file),
        .name = copied(mem, candidate->module),
    };
}

const struct clp_target *clp_imports_target_of(const struct clp_imports *imports, const char *file,
                                               const char *name)
{
    for (size_t i = 0; i < imports->seen_count; i++) {
        const struct clp_seen_module *seen = &imports->seen[i];
        if (seen->code_file == NULL || seen->name == NULL || strcmp(seen->code_file, file) != 0)
            continue;
        const struct clp_candidate candidate = {seen->name, seen->file, name};
        const struct clp_target *target = clp_targets_find(&imports->targets, &candidate);
        if (target != NULL)
            return target;
    }
    return NULL;
}

/* Has the program a module clineprof of its own? */
static bool has_name_of_ours(void)
{
    PyObject *boot = PyDict_GetItemString(PyImport_GetModuleDict(), "clineprof._boot"); /* borrowed */
    PyObject *aside = boot != NULL ? PyObject_GetAttrString(boot, "aside") : NULL;
    bool has = aside != NULL && aside != Py_None;

    PyErr_Clear();
    Py_XDECREF(aside);
    return has;
}

/* Is the module one of clineprof's own? Those are no part of the program, wherever they lie. */
static bool is_own(const char *module)
{
    return strncmp(module, "clineprof", 9) == 0 && (module[9] == 0 || module[9] == '.') &&
           (strncmp(module + 9, "._", 2) == 0 || !has_name_of_ours());
}

/* Prepares the choice for a module, and remembers the module. `file` is the path of its file, `code_file` the file's
 * name in its code. False when no target names anything in the module. */
static bool begin_choice(struct choice *choice, struct clp_imports *imports, const char *module,
                         PyObject *file, PyObject *code_file, char resolved[PATH_MAX])
{
    choice->imports = imports;
    choice->targets = &imports->targets;
    choice->candidate = (struct clp_candidate){.module = module};
    if (imports->targets.count == 0 || is_own(module))
        return false;
    choice->candidate.file = resolve(file, resolved);
    if (clp_targets_find(choice->targets, &choice->candidate) == NULL)
        return false;
    remember(imports, code_file, &choice->candidate);
    return true;
}

static PyObject *code_selected(struct clp_imports *imports, PyObject *code, const char *module,
                               PyObject *file, PyObject *globals)
{
    PyObject *code_file = ((PyCodeObject *)code)->co_filename; /* borrowed */
    char resolved[PATH_MAX];
    struct choice choice;
    const struct clp_chooser chooser = {chooses, &choice};
    bool may_choose = begin_choice(&choice, imports, module, file != NULL ? file : code_file,
                                   code_file, resolved);
    PyObject *profiler = Py_XNewRef(imports->profiler); /* held, as another thread may stop watching meanwhile */

    if (profiler == NULL)
        return Py_NewRef(code);
    PyObject *prepared =
        clp_profiler_prepare(profiler, code, may_choose ? &chooser : NULL, globals);
    Py_DECREF(profiler);
    return prepared;
}

PyObject *clp_imports_code(struct clp_imports *imports, PyObject *code, const char *module)
{
    return code_selected(imports, code, module, NULL, NULL);
}

static bool chooses_within(void *data, PyCodeObject *code, const char *name)
{
    return strcmp(name, "<module>") != 0 && chooses(data, code, name);
}

static bool is_file_seen(const struct clp_imports *imports, PyObject *file)
{
    const char *text = PyUnicode_AsUTF8(file);

    for (size_t i = 0; text != NULL && i < imports->seen_count; i++) {
        if (imports->seen[i].code_file != NULL && strcmp(imports->seen[i].code_file, text) == 0)
            return true;
    }
    PyErr_Clear();
    return false;
}

PyObject *clp_imports_code_within(struct clp_imports *imports, PyObject *code, const char *module)
{
    PyObject *file = ((PyCodeObject *)code)->co_filename; /* borrowed */
    bool exchanges = clp_profiler_exchanges_code(imports->profiler);
    char resolved[PATH_MAX];
    struct choice choice;
    const struct clp_chooser chooser = {exchanges ? chooses_within : chooses, &choice};

    if (is_file_seen(imports, file) ||
        !begin_choice(&choice, imports, module, file, file, resolved))
        return Py_NewRef(code);
    return clp_profiler_prepare(imports->profiler, code, &chooser, NULL);
}

/* ---- modules that Cython has compiled ---- */

/* Selects a function in a file if the targets name it. `what` is (its code or None, qualified name, first line, last
 * line). False with an exception set. */
static bool select_cython(struct choice *choice, PyObject *code_file, PyObject *path, PyObject *text, PyObject *what)
{
    struct clp_cython_key key = {.file = code_file};
    int last;

    if (!PyArg_ParseTuple(what, "OUii", &key.code, &key.name, &key.first_line, &last))
        return false;
    if (key.code == Py_None)
        key.code = NULL;
    const char *name = PyUnicode_AsUTF8(key.name);
    if (name == NULL)
        return false;
    PyObject *profiler = choice->imports->profiler; /* NULL: another thread has stopped watching */
    return !chooses(choice, NULL, name) || profiler == NULL ||
           clp_profiler_select_cython(profiler, &key, path, text, last);
}

/* Was the module compiled with line tracing? Its file is read for that. Leaves no exception. */
static bool tells_lines(PyObject *helper, PyObject *module)
{
    PyObject *answer = PyObject_CallMethod(helper, "tells_lines", "O", module);
    bool tells = answer == Py_True;

    PyErr_Clear();
    Py_XDECREF(answer);
    return tells;
}

/* Selects in a source file of a module that Cython has compiled. `file` is as clineprof._boot.cython.functions_in, the
 * helper, tells it. */
static bool select_in_cython_file(struct clp_imports *imports, PyObject *helper, PyObject *module, PyObject *file)
{
    const char *name = PyModule_GetName(module);
    PyObject *code_file, *path, *text, *functions;
    char resolved[PATH_MAX];
    struct choice choice;
    bool done = name != NULL && PyArg_ParseTuple(file, "UUOO!", &code_file, &path, &text, &PyList_Type, &functions);

    if (!done || !begin_choice(&choice, imports, name, path, path, resolved) || !tells_lines(helper, module))
        return done;
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(functions); i++)
        done = select_cython(&choice, code_file, path, text, PyList_GET_ITEM(functions, i));
    return done;
}

/* Selects what the targets name in an extension module, if Cython has compiled it with line tracing. */
static void select_in_extension(void *data, PyObject *module)
{
    struct clp_imports *imports = data;
    PyObject *profiler = Py_XNewRef(imports->profiler); /* held, as another thread may stop watching meanwhile */
    PyObject *helper = NULL, *files = NULL;
    bool done = true;

    if (profiler != NULL && imports->targets.count != 0 && clp_process_misses_cython() == NULL &&
        clp_cython_made(module))
        helper = clp_compat_own_module("clineprof._boot.cython");
    if (helper != NULL)
        files = PyObject_CallMethod(helper, "functions_in", "O", module);
    for (Py_ssize_t i = 0; files != NULL && done && i < PyList_GET_SIZE(files); i++)
        done = select_in_cython_file(imports, helper, module, PyList_GET_ITEM(files, i));
    PyErr_Clear(); /* a target that matched nothing is told at the end */
    Py_XDECREF(helper);
    Py_XDECREF(files);
    Py_XDECREF(profiler);
}

static bool is_extension(PyObject *file)
{
    PyObject *end = PyUnicode_FromString(".so");
    bool is = end != NULL && PyUnicode_Check(file) && PyUnicode_Tailmatch(file, end, 0, PY_SSIZE_T_MAX, 1) == 1;

    PyErr_Clear();
    Py_XDECREF(end);
    return is;
}

/* ---- modules to come ---- */

/* Takes the place of a loader's get_code. It is an object of a type of its own and not a built-in function, because
 * profile functions such as cProfile's see calls of built-in functions. */
struct wrapper {
    PyObject_HEAD
    struct clp_imports *imports; /* borrowed */
    PyObject *get_code;          /* owned: the loader's own function */
};

/* Names by which the source of a module that is no file can be found, as in the module's globals. A new reference, or
 * NULL with an exception set. */
static PyObject *globals_of(PyObject *loader, PyObject *name)
{
    return Py_BuildValue("{sOsO}", "__loader__", loader, "__name__", name);
}

/* The path of the module's file, a new reference; NULL when the loader has none. The file that the code names may be
 * another one, as a .pyc may have been made elsewhere. */
static PyObject *file_of(PyObject *loader)
{
    PyObject *path = PyObject_GetAttrString(loader, "path");

    if (path != NULL && !PyUnicode_Check(path))
        Py_CLEAR(path);
    PyErr_Clear();
    return path;
}

/* Selects in a module's code, and takes the reference to it. Returns a new reference to the code to run, or NULL with
 * an exception set. The module's name is encoded as command lines are, which may be other than UTF-8. */
static PyObject *selected_in(struct clp_imports *imports, PyObject *code, PyObject *loader,
                             PyObject *name)
{
    PyObject *module = PyUnicode_Check(name) ? PyUnicode_EncodeFSDefault(name) : NULL;

    if (module == NULL) {
        PyErr_Clear(); /* the loader accepted the name, so this is no error */
        return code;
    }
    PyObject *file = file_of(loader), *globals = globals_of(loader, name);
    PyObject *result = globals != NULL ? code_selected(imports, code, PyBytes_AS_STRING(module),
                                                       file, globals)
                                       : NULL;
    Py_DECREF(module);
    Py_XDECREF(file);
    Py_XDECREF(globals);
    Py_DECREF(code);
    return result;
}

/* The modules that are extended (imports.h), and the modules of ours that do it. helper.taking(code, profiler) extends the code of
 * such a module, helper.hand_over(profiler) a module that is loaded. */
static const struct addition {
    const char *module; /* its name; with a dot first, the end of its name */
    const char *helper; /* the name of our module */
} additions[] = {
    {"line_profiler.explicit_profiler", "clineprof._compat.explicit"}, /* these have a `profile` of their own */
    {"memory_profiler", "clineprof._compat.explicit"},
    {"clineprof.memory_profiler", "clineprof._compat.explicit"},
    {".spawn", "clineprof._boot.spawning"}, /* of multiprocessing, and of packages like it */
    {"_pytest.assertion.rewrite", "clineprof._boot.rewriting"}, /* is a loader that runs the code which it makes */
};

#define ADDITIONS (sizeof additions / sizeof *additions)

static bool is_about(const struct addition *addition, const char *name)
{
    size_t bytes = strlen(name), end = addition->module[0] == '.' ? strlen(addition->module) : bytes;

    return bytes >= end && strcmp(name + bytes - end, addition->module) == 0;
}

/* How to extend the module of this name; NULL when it is none of those. Without this profiler in the builtins nothing
 * is extended. */
static const struct addition *addition_to(const struct clp_imports *imports, PyObject *name)
{
    PyObject *builtins = PyEval_GetBuiltins(); /* borrowed */
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;

    PyErr_Clear();
    if (text == NULL || builtins == NULL ||
        PyDict_GetItemString(builtins, "profile") != imports->profiler)
        return NULL;
    for (size_t i = 0; i < ADDITIONS; i++) {
        if (is_about(&additions[i], text))
            return &additions[i];
    }
    return NULL;
}

/* Extends a module's code, and takes the reference to it. Returns a new reference; the same code when there is nothing
 * to add, or when that fails. */
static PyObject *added_to(const struct clp_imports *imports, PyObject *code, PyObject *name)
{
    const struct addition *addition = addition_to(imports, name);
    PyObject *helper = addition != NULL ? clp_compat_own_module(addition->helper) : NULL;
    PyObject *result = NULL;

    if (helper != NULL)
        result = PyObject_CallMethod(helper, "taking", "OO", code, imports->profiler);
    Py_XDECREF(helper);
    if (result == NULL) {
        PyErr_Clear();
        return code;
    }
    Py_DECREF(code);
    return result;
}

/* Is called in place of get_code(loader, name). */
static PyObject *call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
    const struct wrapper *wrapper = (const struct wrapper *)self;
    PyObject *code = PyObject_Call(wrapper->get_code, arguments, keywords);

    if (code == NULL || !PyCode_Check(code) || PyTuple_GET_SIZE(arguments) != 2 ||
        wrapper->imports->profiler == NULL)
        return code;
    PyObject *name = PyTuple_GET_ITEM(arguments, 1); /* borrowed */
    if (!wrapper->imports->selects_nothing)
        code = selected_in(wrapper->imports, code, PyTuple_GET_ITEM(arguments, 0), name);
    return code != NULL ? added_to(wrapper->imports, code, name) : NULL;
}

static PyObject *bind(PyObject *self, PyObject *loader, PyObject *type)
{
    (void)type;
    return loader != NULL ? PyMethod_New(self, loader) : Py_NewRef(self);
}

/* Gives the attributes of the loader's own get_code, so that name, signature and all else look as before. */
static PyObject *get_attribute(PyObject *self, PyObject *name)
{
    return PyObject_GetAttr(((const struct wrapper *)self)->get_code, name);
}

static void free_wrapper(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_XDECREF(((struct wrapper *)self)->get_code);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot slots[] = {
    {Py_tp_call, call},
    {Py_tp_descr_get, bind},
    {Py_tp_getattro, get_attribute},
    {Py_tp_dealloc, free_wrapper},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "clineprof._core.GetCode",
    .basicsize = sizeof(struct wrapper),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

/* Makes a wrapper, and takes the reference to get_code. A new reference, or NULL with an exception set. */
static PyObject *wrap(struct clp_imports *imports, PyObject *get_code)
{
    PyObject *type = PyType_FromSpec(&spec);
    struct wrapper *wrapper = NULL;

    if (type != NULL)
        wrapper = PyObject_New(struct wrapper, (PyTypeObject *)type);
    if (wrapper != NULL) {
        wrapper->imports = imports;
        wrapper->get_code = Py_NewRef(get_code);
    }
    Py_XDECREF(type);
    Py_DECREF(get_code);
    return (PyObject *)wrapper;
}

/* The classes of loaders whose get_code is wrapped. */
static const struct loader {
    const char *module, *class;
} loaders[] = {
    {"_frozen_importlib_external", "SourceLoader"},
    {"_frozen_importlib_external", "SourcelessFileLoader"},
    {"zipimport", "zipimporter"},
};

#define LOADERS (sizeof loaders / sizeof *loaders)

/* The class of a loader: a new reference, or NULL with an exception set. */
static PyObject *class_of(const struct loader *loader)
{
    PyObject *holder = PyImport_ImportModule(loader->module);
    PyObject *class = holder != NULL ? PyObject_GetAttrString(holder, loader->class) : NULL;

    Py_XDECREF(holder);
    return class;
}

/* Wraps get_code of a loader's class. False with an exception set. */
static bool wrap_class(struct clp_imports *imports, const struct loader *loader)
{
    PyObject *class = class_of(loader);
    PyObject *get_code = class != NULL ? PyObject_GetAttrString(class, "get_code") : NULL;
    PyObject *wrapper = get_code != NULL ? wrap(imports, get_code) : NULL;
    bool done = wrapper != NULL && PyObject_SetAttrString(class, "get_code", wrapper) == 0;

    Py_XDECREF(class);
    Py_XDECREF(wrapper);
    return done;
}

/* All that watch, the newest first. */
static struct clp_imports *watching;

bool clp_imports_watch(struct clp_imports *imports)
{
    imports->next = watching;
    watching = imports;
    for (size_t i = 0; i < LOADERS; i++) {
        if (!wrap_class(imports, &loaders[i]))
            return false;
    }
    clp_modules_tell(select_in_extension, imports);
    return true;
}

/* Gives the class its own get_code back, unless another tool has replaced our wrapper since. */
static void unwrap_class(const struct clp_imports *imports, const struct loader *loader)
{
    PyObject *class = class_of(loader);
    PyObject *there = class != NULL ? PyObject_GetAttrString(class, "get_code") : NULL;

    if (there != NULL && Py_TYPE(there)->tp_call == call &&
        ((struct wrapper *)there)->imports == imports)
        (void)PyObject_SetAttrString(class, "get_code", ((struct wrapper *)there)->get_code);
    PyErr_Clear(); /* a wrapper that stays does nothing without a profiler */
    Py_XDECREF(class);
    Py_XDECREF(there);
}

/* May such a module be loaded? When only the end of its name is known, the helper has to look. */
static bool can_be_loaded(const struct addition *addition)
{
    return addition->module[0] == '.' ||
           PyDict_GetItemString(PyImport_GetModuleDict(), addition->module) != NULL;
}

void clp_imports_hand_over(const struct clp_imports *imports)
{
    for (size_t i = 0; i < ADDITIONS; i++) {
        if (!can_be_loaded(&additions[i]))
            continue;
        PyObject *helper = clp_compat_own_module(additions[i].helper), *result = NULL;
        if (helper != NULL)
            result = PyObject_CallMethod(helper, "hand_over", "O", imports->profiler);
        Py_XDECREF(helper);
        Py_XDECREF(result);
        PyErr_Clear(); /* the program may have a different module of that name */
    }
}

/* Takes it from the list of those that watch. */
static void unlist(struct clp_imports *imports)
{
    struct clp_imports **link = &watching;

    while (*link != NULL && *link != imports)
        link = &(*link)->next;
    if (*link != NULL)
        *link = imports->next;
}

void clp_imports_unwatch(struct clp_imports *imports)
{
    imports->profiler = NULL;
    unlist(imports);
    clp_modules_tell_no_more(imports);
    for (size_t i = 0; i < LOADERS; i++)
        unwrap_class(imports, &loaders[i]);
}

void clp_imports_clear(struct clp_imports *imports)
{
    struct clp_mem *mem = imports->targets.mem;

    for (size_t i = 0; i < imports->seen_count; i++) {
        clp_mem_free_text(mem, imports->seen[i].code_file);
        clp_mem_free_text(mem, imports->seen[i].file);
        clp_mem_free_text(mem, imports->seen[i].name);
    }
    clp_mem_free(mem, imports->seen, imports->seen_room, sizeof *imports->seen);
    imports->seen = NULL;
    imports->seen_count = imports->seen_room = 0;
    clp_targets_clear(&imports->targets);
}

/* ---- modules that are loaded ---- */

static PyObject *functions_of(PyObject *module, const char *name)
{
    PyObject *helper = clp_compat_own_module("clineprof._boot.targets");
    PyObject *functions =
        helper != NULL ? PyObject_CallMethod(helper, "functions_of", "Os", module, name) : NULL;

    Py_XDECREF(helper);
    return functions;
}

static bool select_in_loaded(struct clp_imports *imports, PyObject *module, const char *name)
{
    PyObject *file = PyDict_GetItemString(PyModule_GetDict(module), "__file__"); /* borrowed */
    PyObject *functions = NULL;
    char resolved[PATH_MAX];
    struct choice choice;
    const struct clp_chooser chooser = {chooses, &choice};
    bool done = true;

    Py_XINCREF(file);
    if (file != NULL && is_extension(file)) {
        select_in_extension(imports, module);
    } else if (file != NULL && begin_choice(&choice, imports, name, file, file, resolved)) {
        functions = functions_of(module, name);
        PyErr_Clear(); /* the module's objects may raise; a target that matched nothing is told at the end */
    }
    for (Py_ssize_t i = 0; functions != NULL && done && i < PyList_GET_SIZE(functions); i++)
        done = clp_profiler_prepare_function(imports->profiler, PyList_GET_ITEM(functions, i),
                                             &chooser);
    Py_XDECREF(functions);
    Py_XDECREF(file);
    return done;
}

/* Selects what a target names by a module that has it from elsewhere, and counts it for the target. */
struct exported {
    struct clp_imports *imports;
    struct clp_target *target;
    struct clp_candidate candidate;
};

static bool chooses_exported(void *data, PyCodeObject *code, const char *name)
{
    struct exported *exported = data;

    (void)code;
    exported->candidate.name = name;
    bool wanted = clp_targets_want(&exported->imports->targets, &exported->candidate);
    exported->target->matched += wanted;
    exported->target->left_out += !wanted;
    return wanted;
}

static bool select_exported_function(struct exported *exported, PyObject *function)
{
    PyObject *file = Py_NewRef(((PyCodeObject *)PyFunction_GetCode(function))->co_filename);
    const struct clp_chooser chooser = {chooses_exported, exported};
    char resolved[PATH_MAX];

    exported->candidate.file = resolve(file, resolved);
    remember(exported->imports, file, &exported->candidate);
    Py_DECREF(file);
    return clp_profiler_prepare_function(exported->imports->profiler, function, &chooser);
}

static bool select_exported(struct clp_imports *imports, struct clp_target *target)
{
    PyObject *helper = clp_compat_own_module("clineprof._boot.targets");
    PyObject *text = helper != NULL ? PyUnicode_DecodeFSDefault(target->text) : NULL;
    PyObject *found = text != NULL ? PyObject_CallMethod(helper, "exported", "O", text) : NULL;
    struct exported exported = {.imports = imports, .target = target};
    PyObject *functions;
    bool done = true;

    Py_XDECREF(helper);
    Py_XDECREF(text);
    if (found == NULL || !PyArg_ParseTuple(found, "sO!", &exported.candidate.module, &PyList_Type, &functions)) {
        PyErr_Clear(); /* the program's objects may raise; a target that matched nothing is told at the end */
        Py_XDECREF(found);
        return true;
    }
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(functions); i++)
        done = select_exported_function(&exported, PyList_GET_ITEM(functions, i));
    Py_DECREF(found);
    return done;
}

/* Selects what targets name by the module that exports it, where they name nothing else. */
static bool select_all_exported(struct clp_imports *imports)
{
    bool done = true;

    for (size_t i = 0; done && i < imports->targets.count; i++) {
        struct clp_target *target = &imports->targets.items[i];
        if (target->matched == 0 && target->left_out == 0 && strchr(target->text, '.') != NULL)
            done = select_exported(imports, target);
    }
    return done;
}

bool clp_imports_select_loaded(struct clp_imports *imports)
{
    PyObject *modules = PyDict_Items(PyImport_GetModuleDict());
    bool done = modules != NULL;

    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(modules); i++) {
        PyObject *name = PyTuple_GET_ITEM(PyList_GET_ITEM(modules, i), 0);
        PyObject *module = PyTuple_GET_ITEM(PyList_GET_ITEM(modules, i), 1);
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        if (text == NULL)
            PyErr_Clear();
        else if (PyModule_CheckExact(module) && strcmp(text, "__main__") != 0 &&
                 !is_seen(imports, text))
            done = select_in_loaded(imports, module, text);
    }
    Py_XDECREF(modules);
    return done && select_all_exported(imports);
}

bool clp_imports_select_main(struct clp_imports *imports, const char *name)
{
    PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "__main__"); /* borrowed */

    if (module == NULL || !PyModule_CheckExact(module) || is_seen(imports, name))
        return true;
    Py_INCREF(module);
    bool done = select_in_loaded(imports, module, name);
    Py_DECREF(module);
    return done;
}

bool clp_imports_select_function(struct clp_imports *imports, PyObject *function, const char *module)
{
    PyObject *file = ((PyCodeObject *)PyFunction_GetCode(function))->co_filename; /* borrowed, the code holds it */
    char resolved[PATH_MAX];
    struct choice choice;
    const struct clp_chooser chooser = {chooses, &choice};

    return !begin_choice(&choice, imports, module, file, file, resolved) ||
           clp_profiler_prepare_function(imports->profiler, function, &chooser);
}

/* ---- modules of a loader that runs their code itself ---- */

PyObject *clp_imports_exec(PyObject *self, PyObject *arguments)
{
    PyObject *code, *names, *exec = PyDict_GetItemString(PyEval_GetBuiltins(), "exec"); /* borrowed */

    (void)self;
    if (!PyArg_ParseTuple(arguments, "O!O!:exec_selected", &PyCode_Type, &code, &PyDict_Type, &names))
        return NULL;
    PyObject *name = PyDict_GetItemString(names, "__name__"), *loader = PyDict_GetItemString(names, "__loader__");
    Py_INCREF(code);
    for (struct clp_imports *imports = watching; name != NULL && loader != NULL && code != NULL && imports != NULL;
         imports = imports->next)
        if (imports->profiler != NULL && !imports->selects_nothing)
            code = selected_in(imports, code, loader, name);
    PyObject *result = code != NULL && exec != NULL ? PyObject_CallFunctionObjArgs(exec, code, names, NULL) : NULL;
    Py_XDECREF(code);
    return result;
}

/* ---- functions that arrive by value ---- */

bool clp_imports_script_name(PyObject *code, char *name, size_t room)
{
    const char *file = PyUnicode_AsUTF8(((PyCodeObject *)code)->co_filename);
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    const char *base = slash != NULL ? slash + 1 : file;
    size_t bytes = base != NULL ? strlen(base) : 0;

    PyErr_Clear();
    if (bytes <= 3 || bytes - 3 >= room || strcmp(base + bytes - 3, ".py") != 0)
        return false;
    memcpy(name, base, bytes - 3);
    name[bytes - 3] = 0;
    return true;
}

static bool select_named(struct clp_imports *imports, PyObject *function, const char *module)
{
    char script[256];

    if (!clp_imports_select_function(imports, function, module))
        return false;
    return strcmp(module, "__main__") != 0 || imports->profiler == NULL ||
           !clp_imports_script_name(PyFunction_GetCode(function), script, sizeof script) ||
           clp_imports_select_function(imports, function, script);
}

static bool mark(const struct clp_imports *imports, PyObject *function)
{
    PyObject *result = PyObject_CallOneArg(imports->profiler, function);

    Py_XDECREF(result);
    return result != NULL;
}

bool clp_imports_take(PyObject *function, const char *module, bool marked)
{
    bool done = true;

    for (struct clp_imports *imports = watching; done && imports != NULL; imports = imports->next) {
        PyObject *profiler = Py_XNewRef(imports->profiler); /* held, as another thread may stop watching meanwhile */
        if (profiler != NULL && !imports->selects_nothing)
            done = (!marked || mark(imports, function)) && select_named(imports, function, module);
        Py_XDECREF(profiler);
    }
    return done;
}
