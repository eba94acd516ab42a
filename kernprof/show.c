/* SPDX-License-Identifier: MIT */
#include "show.h"
#include "words.h"
#include <limits.h>
#include <unistd.h>

static int complain_of_memory(const struct clp_show *show)
{
    clp_words_complain(show->name, "out of memory; the report is not complete");
    return 1;
}

/* The marked text as the terminal is to get it (clineprof/_rich.py): a new reference, or NULL without
 * rich. */
static PyObject *colour(const struct clp_show *show, const char *marked)
{
    PyObject *module = PyImport_ImportModule("clineprof._rich"), *text = NULL;
    PyObject *path = show->path != NULL ? show->path : Py_None;

    if (module != NULL)
        text = PyObject_CallMethod(module, "render", "sO", marked, path);
    Py_XDECREF(module);
    if (text != NULL && PyUnicode_Check(text) && PyUnicode_AsUTF8(text) != NULL)
        return text;
    PyErr_Clear();
    Py_XDECREF(text);
    return NULL;
}

/* The report with what is to be said at its end; false when memory ran out. */
static bool make_text(const struct clp_profile *profile, const struct clp_show *show,
                      const struct clp_report_options *options, struct clp_buf *text)
{
    bool whole = clp_report_text(profile, options, text) == CLP_OK;

    clp_buf_add_text(text, show->note != NULL ? show->note : "");
    return whole && !text->failed;
}

/* False without rich, with nothing printed. */
static bool print_rich(const struct clp_profile *profile, const struct clp_show *show,
                       struct clp_report_options *options, int *code)
{
    struct clp_buf marked;

    clp_buf_init(&marked, profile->mem);
    options->marked = true;
    bool whole = make_text(profile, show, options, &marked);
    options->marked = false;
    PyObject *text = whole ? colour(show, clp_buf_text(&marked)) : NULL;
    clp_buf_clear(&marked);
    if (text != NULL)
        *code = clp_words_answer(show->name, PyUnicode_AsUTF8(text));
    else if (whole)
        clp_words_complain(show->name,
                           "no colours: the package rich is not installed or does not work");
    else
        *code = complain_of_memory(show);
    Py_XDECREF(text);
    return text != NULL || !whole;
}

static int print_memory_table(const struct clp_profile *profile, const struct clp_show *show,
                              const char *folder)
{
    struct clp_memory_table_options options = show->table;
    struct clp_buf text;

    if (!profile->meta.has_memory) {
        clp_words_complain(show->name, "--mp: the profile has no memory; it was made without");
        return 1;
    }
    options.folder = folder;
    clp_buf_init(&text, profile->mem);
    bool whole = clp_memory_table_text(profile, &options, &text) == CLP_OK;
    int code = clp_words_put(show->name, show->outfile, clp_buf_text(&text), text.used) ? 0 : 1;
    clp_buf_clear(&text);
    return whole ? code : complain_of_memory(show);
}

static int print_plain(const struct clp_profile *profile, const struct clp_show *show,
                       const struct clp_report_options *options)
{
    struct clp_buf text;

    clp_buf_init(&text, profile->mem);
    bool whole = make_text(profile, show, options, &text);
    int code = clp_words_put(show->name, show->outfile, clp_buf_text(&text), text.used) ? 0 : 1;
    clp_buf_clear(&text);
    return whole ? code : complain_of_memory(show);
}

void clp_show_say_if_none(const char *name, const struct clp_profile *profile,
                          const struct clp_choice_options *options)
{
    bool by_function = options->functions != NULL, by_file = options->files != NULL;
    struct clp_choice choice;

    if (!(by_function || by_file) || profile->function_count == 0 ||
        clp_choice_make(&choice, profile, options, profile->mem) != CLP_OK)
        return;
    if (choice.count == 0)
        clp_words_complain_format(name, "%s%s%s matches none of %zu functions",
                                  by_function ? "--function" : "",
                                  by_function && by_file ? " with " : "", by_file ? "--file" : "",
                                  profile->function_count);
    clp_choice_clear(&choice);
}

int clp_show_report(const struct clp_profile *profile, const struct clp_show *show)
{
    struct clp_report_options options = show->options;
    char folder[PATH_MAX];
    int code = 0;

    options.folder = getcwd(folder, sizeof folder);
    clp_show_say_if_none(show->name, profile, &options.choice);
    if (show->mp)
        return print_memory_table(profile, show, options.folder);
    if (show->rich && show->outfile == NULL && print_rich(profile, show, &options, &code))
        return code;
    return print_plain(profile, show, &options);
}
