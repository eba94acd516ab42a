/* SPDX-License-Identifier: MIT */
#include "config.h"
#include "bridge/console.h"

static bool complain(const struct clp_config *config, const char *text)
{
    clp_console_complain(config->program, text);
    (void)clp_console_exit(2);
    return false;
}

/* Prints the exception at hand as one line of complaint, replaces it with SystemExit, and returns false. The text of
 * config.py's exceptions is written for users. */
static bool complain_of_exception(const struct clp_config *config)
{
    clp_console_complain_of_exception(config->program, "cannot read the config files");
    (void)clp_console_exit(2);
    return false;
}

/* Calls config.py. Returns a new reference to its tuple (settings, warnings), or NULL with an exception set. */
static PyObject *load(const struct clp_config *config)
{
    PyObject *module = PyImport_ImportModule("clineprof._boot.config"), *loaded = NULL, *file = NULL;

    if (module != NULL)
        file = config->file != NULL ? PyUnicode_DecodeFSDefault(config->file) : Py_NewRef(Py_None);
    if (file != NULL)
        loaded = PyObject_CallMethod(module, "load", "sO", config->table, file);
    Py_XDECREF(module);
    Py_XDECREF(file);
    return loaded;
}

static bool store_one(const struct clp_config *config, struct clp_option_table table,
                      PyObject *item, void *into, struct clp_buf *error)
{
    struct clp_setting setting = {0};
    const char *place;
    int type, in_list, lenient;

    if (!PyArg_ParseTuple(item, "ssiypp", &place, &setting.key, &type, &setting.value, &in_list,
                          &lenient))
        return complain_of_exception(config);
    setting.type = (enum clp_setting_type)type;
    setting.in_list = in_list != 0;
    if ((lenient && !clp_option_knows(table, setting.key)) ||
        clp_option_set(table, &setting, into, config->program, error))
        return true;
    struct clp_buf line;
    clp_buf_init(&line, error->mem);
    clp_buf_add_format(&line, "%s: %s", place, clp_buf_text(error));
    complain(config, clp_buf_text(&line));
    clp_buf_clear(&line);
    return false;
}

static bool store_all(const struct clp_config *config, struct clp_option_table table,
                      PyObject *settings, void *into, struct clp_mem *mem)
{
    bool done = true;
    struct clp_buf error;

    clp_buf_init(&error, mem);
    for (Py_ssize_t i = 0; done && i < PyList_GET_SIZE(settings); i++)
        done = store_one(config, table, PyList_GET_ITEM(settings, i), into, &error);
    clp_buf_clear(&error);
    return done;
}

static void warn(const struct clp_config *config, PyObject *warnings)
{
    for (Py_ssize_t i = 0; !config->quiet && i < PyList_GET_SIZE(warnings); i++) {
        const char *text = PyUnicode_AsUTF8(PyList_GET_ITEM(warnings, i));
        if (text != NULL)
            clp_console_complain(config->program, text);
        PyErr_Clear();
    }
}

bool clp_config_read(const struct clp_config *config, struct clp_option_table table, void *into,
                     struct clp_mem *mem, PyObject **keep)
{
    PyObject *settings, *warnings;

    *keep = load(config);
    if (*keep == NULL ||
        !PyArg_ParseTuple(*keep, "O!O!", &PyList_Type, &settings, &PyList_Type, &warnings))
        return complain_of_exception(config);
    warn(config, warnings);
    return store_all(config, table, settings, into, mem);
}
