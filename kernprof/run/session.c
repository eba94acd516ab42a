/* SPDX-License-Identifier: MIT */
#include "session.h"
#include "profile/texts.h"

struct clp_run *clp_run_new(PyObject *words)
{
    struct clp_run *run = PyMem_RawCalloc(1, sizeof *run);

    if (run == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    run->mem = clp_mem_system();
    clp_recording_init(&run->recording, CLP_RUN_NAME, &run->mem);
    run->profile_out = -1;
    clp_buf_init(&run->found_script, &run->mem);
    if (clp_command_words_init(&run->words, words))
        return run;
    clp_run_free(run);
    return NULL;
}

void clp_run_free(struct clp_run *run)
{
    Py_XDECREF(run->recording.profiler);
    Py_XDECREF(run->start_path);
    clp_run_options_clear(&run->options, &run->mem);
    Py_XDECREF(run->settings);
    clp_command_words_clear(&run->words);
    clp_buf_clear(&run->recording.outfile);
    clp_buf_clear(&run->found_script);
    PyMem_RawFree(run);
}

static void add_word(struct clp_buf *out, const char *word)
{
    PyObject *text = PyUnicode_DecodeFSDefault(word);

    if (text != NULL)
        (void)clp_console_add_quoted_text(out, text);
    PyErr_Clear();
    Py_XDECREF(text);
}

/* Is the program's text, which is the first word after -c, left out of the profile? */
static bool hides_code(const struct clp_run_options *options)
{
    return options->target_kind == CLP_TARGET_CODE && options->source != NULL &&
           clp_kept_source_named(options->source) == CLP_SOURCE_NONE;
}

void clp_run_add_command(const struct clp_run *run, struct clp_buf *text)
{
    if (run->options.target_kind == CLP_TARGET_MODULE)
        clp_buf_add_text(text, "-m ");
    else if (run->options.target_kind == CLP_TARGET_CODE)
        clp_buf_add_text(text, "-c ");
    for (int i = 0; i < run->options.program_argc; i++) {
        if (i > 0)
            clp_buf_add_text(text, " ");
        add_word(text, i == 0 && hides_code(&run->options) ? "..." : run->options.program_argv[i]);
    }
}
