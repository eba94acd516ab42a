/* SPDX-License-Identifier: MIT */
#include "output.h"
#include "base/escape.h"
#include "cli/overwrite.h"
#include "os/file.h"
#include "formats/lprof/wire.h"
#include "run/processes/naming.h"
#include "program_end.h"
#include "run/processes/recording.h"
#include "bridge/console.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const char me[] = CLP_RUN_NAME;

#define CODE_LOST 1 /* the exit code when no profile could be written */

/* ---- before the run ---- */

static void add_name_of_program(struct clp_buf *out, const struct clp_run_options *options)
{
    const char *slash = strrchr(options->target, '/');

    if (clp_run_options_is_text(options))
        clp_buf_add_format(out, "kernprof-%s", options->target_kind == CLP_TARGET_CODE ? "command" : "stdin");
    else
        clp_buf_add_text(out, slash != NULL ? slash + 1 : options->target);
}

/* Is the output standard output (-o -)? */
static bool goes_to_output(const struct clp_run_options *options)
{
    return options->outfile != NULL && strcmp(options->outfile, "-") == 0;
}

/* Appends the working directory with a slash at its end. Where nobody can tell that directory, it is "./". */
static void add_folder(struct clp_buf *out)
{
    char folder[PATH_MAX];

    if (getcwd(folder, sizeof folder) == NULL)
        (void)strcpy(folder, ".");
    clp_buf_add_format(out, "%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/");
}

/* Names the output, by an absolute path, because the program may change its working directory. */
static void name_outfile(struct clp_run *run)
{
    const char *name = goes_to_output(&run->options) ? NULL : run->options.outfile;

    if (name == NULL || name[0] != '/')
        add_folder(&run->recording.outfile);
    if (name != NULL) {
        clp_naming_add_pattern(&run->recording.outfile, name);
        return;
    }
    add_name_of_program(&run->recording.outfile, &run->options);
    clp_naming_add_rank(&run->recording.outfile);
    clp_buf_add_text(&run->recording.outfile, run->options.line_by_line ? ".lprof" : ".prof");
    if (clp_run_options_is_text(&run->options)) /* every -c has the same name, so a number keeps their files apart */
        clp_naming_make_own(&run->recording.outfile);
}

/* Keeps standard output for the profile alone (-o -), and sends what the program prints to standard error. False with
 * SystemExit set. */
static bool take_output(struct clp_run *run)
{
    if (isatty(STDOUT_FILENO)) {
        clp_console_complain(me, "'-o -' writes the profile to standard output, which is a terminal; send it to a "
                               "file or a pipe: .. | clineprof -");
        return clp_console_exit(2) != NULL;
    }
    run->profile_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, CLP_FAR_DESCRIPTOR);
    if (run->profile_out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        const struct clp_fault fault = {.status = CLP_IO, .os_error = errno};
        clp_console_complain_of_place(me, NULL, &fault);
        return clp_console_exit(1) != NULL;
    }
    if (run->options.output_interval > 0)
        clp_console_complain(me, "-i: standard output gets the profile once, when the program ends");
    return true;
}

/* Sets the path to a name of its own in the first temporary folder that takes a file. False, with an empty path, when
 * none does. */
static bool find_place(const char *outfile, struct clp_buf *path)
{
    const char *folder;
    struct clp_fault fault;

    for (int i = 0; (folder = clp_file_temporary_folder(i)) != NULL; i++) {
        clp_naming_make_temporary(path, folder, outfile);
        if (clp_file_probe(clp_buf_text(path), &fault) == CLP_OK)
            return true;
    }
    clp_buf_cut(path, 0);
    return false;
}

/* Moves the output, and all files of the run with it, to the temporary folder, if the fault is not a mistyped name. One
 * line says so. False, after one line of complaint, when the output has no place. */
static bool go_elsewhere(struct clp_run *run, const struct clp_fault *fault)
{
    struct clp_buf *outfile = &run->recording.outfile, path;

    clp_buf_init(&path, outfile->mem);
    bool wanted = clp_file_may_go_elsewhere(fault->os_error);
    bool found = wanted && find_place(clp_buf_text(outfile), &path);
    if (found)
        clp_console_complain_format(me, "cannot write '%s': %s; the profile goes to '%s'", clp_buf_text(outfile),
                                    clp_fault_text(fault), clp_buf_text(&path));
    else
        clp_console_complain_format(me, "cannot write '%s': %s%s", clp_buf_text(outfile), clp_fault_text(fault),
                                    wanted ? "; no temporary folder takes the profile either" : "");
    if (found) {
        run->recording.rights = CLP_FILE_PRIVATE; /* the script's folder may be closed to others */
        clp_buf_cut(outfile, 0);
        clp_buf_add_text(outfile, clp_buf_text(&path));
    }
    clp_buf_clear(&path);
    return found;
}

bool clp_output_ready(struct clp_run *run)
{
    struct clp_fault fault;

    name_outfile(run);
    if (goes_to_output(&run->options))
        return take_output(run);
    if (clp_file_probe(clp_buf_text(&run->recording.outfile), &fault) != CLP_OK && !go_elsewhere(run, &fault))
        return clp_console_exit(1) != NULL;
    if (run->options.outfile != NULL &&
        clp_overwrite_refuse(&(struct clp_overwrite){
            .program = me,
            .path = clp_naming_seen_from_here(clp_buf_text(&run->recording.outfile)),
            .only = CLP_OVERWRITE_PROFILES}))
        return clp_console_exit(2) != NULL;
    if (run->options.verbosity >= 0)
        clp_overwrite_note_ending(me, run->options.outfile,
                                  run->options.line_by_line ? CLP_OVERWRITE_PROFILE : CLP_OVERWRITE_CALLS, NULL);
    clp_file_clean(clp_buf_text(&run->recording.outfile));
    run->before = clp_naming_look(clp_buf_text(&run->recording.outfile));
    return true;
}

/* ---- messages ---- */

/* Appends the path of the viewer in the launcher's folder. Appends the plain name `clineprof` if no viewer is there, as
 * when that path is relative and the program has changed its working directory. */
static void add_beside(struct clp_buf *out, const char *folder, size_t length)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf path;

    clp_buf_init(&path, &mem);
    clp_buf_add(&path, folder, length);
    clp_buf_add_text(&path, "/clineprof");
    clp_console_add_quoted(out, access(clp_buf_text(&path), X_OK) == 0 ? clp_buf_text(&path) : "clineprof");
    clp_buf_clear(&path);
}

static void add_python(struct clp_buf *out, const char *module)
{
    const char *python = PyUnicode_AsUTF8(PySys_GetObject("executable"));

    clp_console_add_quoted(out, python != NULL ? python : "python3");
    clp_buf_add_format(out, " -m %s", module);
}

/* Appends a command that starts the viewer, as the user can type it. */
static void add_line_viewer(const struct clp_run *run, struct clp_buf *out)
{
    const char *program = run->words.items[0];
    const char *slash = strrchr(program, '/');
    PyObject *package = clp_compat_own_module("clineprof._boot");
    PyObject *paths = package != NULL ? PyObject_GetAttrString(package, "__path__") : NULL;
    PyObject *folder = paths != NULL ? PySequence_GetItem(paths, 0) : NULL;
    const char *text = folder != NULL ? PyUnicode_AsUTF8(folder) : NULL;
    const char *last = text != NULL ? text + strlen(text) - strlen("/clineprof/_boot") : NULL;
    PyObject *parent =
        last != NULL ? PyUnicode_FromStringAndSize(text, (Py_ssize_t)(last - text)) : NULL;
    PyObject *path = PySys_GetObject("path"); /* borrowed */

    if (parent != NULL && path != NULL && PySequence_Contains(path, parent) == 1)
        add_python(out, "clineprof");
    else if (slash != NULL)
        add_beside(out, program, (size_t)(slash - program));
    else
        clp_buf_add_text(out, "clineprof");
    PyErr_Clear();
    Py_XDECREF(package);
    Py_XDECREF(paths);
    Py_XDECREF(folder);
    Py_XDECREF(parent);
}

static void add_viewer(const struct clp_run *run, struct clp_buf *out)
{
    if (run->options.line_by_line) {
        add_line_viewer(run, out);
        clp_buf_add_text(out, " -mt");
    } else {
        add_python(out, "pstats");
    }
}

static void say_written(const struct clp_run *run, const char *path)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf text;

    if (run->options.verbosity < 0)
        return;
    path = clp_naming_seen_from_here(path);
    clp_buf_init(&text, &mem);
    clp_buf_add_text(&text, "Wrote profile results to '");
    clp_escape_add_text(&text, path);
    clp_buf_add_text(&text, "'\n");
    if (run->options.verbosity == 0) {
        clp_buf_add_text(&text, "Inspect results with:\n");
        add_viewer(run, &text);
        clp_buf_add_text(&text, path[0] == '-' ? " ./" : " ");
        clp_console_add_quoted(&text, path);
        clp_buf_add_text(&text, "\n");
    }
    clp_console_print(1, clp_buf_text(&text));
    clp_buf_clear(&text);
}

/* ---- writing ---- */

/* Writes the profile to the temporary folder, when the output cannot be written. False, after a message, when that
 * fails, too. */
static bool write_elsewhere(const struct clp_run *run, const char *bytes, size_t count)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_fault fault;
    struct clp_buf path;

    clp_buf_init(&path, &mem);
    const char *name = run->options.line_by_line ? CLP_RUN_NAME "-XXXXXX.lprof" : CLP_RUN_NAME "-XXXXXX.prof";
    bool written = clp_file_write_temporary(name, bytes, count, &path, &fault) == CLP_OK;
    if (written) {
        clp_console_complain_format(me, "the profile is in '%s' instead", clp_buf_text(&path));
        say_written(run, clp_buf_text(&path));
    } else {
        clp_recording_complain(&run->recording, "the profile cannot be written to the temporary folder either",
                               CLP_FILE_TEMPORARY, &fault);
        clp_program_end_exit_with(CODE_LOST);
    }
    clp_buf_clear(&path);
    return written;
}

void clp_output_say_lost(const char *text)
{
    clp_console_complain(me, text);
    clp_program_end_exit_with(CODE_LOST);
}

/* Gives the profile another name when another process has written the output since the run began. A live file keeps
 * others away from the name; so this can happen only without one. */
static void avoid_others(struct clp_run *run)
{
    struct clp_buf *outfile = &run->recording.outfile;

    if (clp_recording_has_name(&run->recording) || !clp_naming_has_changed(&run->before, clp_buf_text(outfile)))
        return;
    clp_naming_make_own(outfile);
    clp_console_complain_format(me, "another process has written a profile of the same name meanwhile; this "
                                "run's profile is '%s'", clp_naming_seen_from_here(clp_buf_text(outfile)));
}

static bool write_to_place(struct clp_run *run, const char *bytes, size_t count)
{
    const struct clp_recording *recording = &run->recording;
    const struct clp_file_content content = {bytes, count, recording->rights};
    int held = clp_recording_has_name(recording) ? -1 : clp_naming_lock(clp_buf_text(&recording->outfile), true);
    struct clp_fault fault;

    avoid_others(run);
    bool written = clp_file_write(clp_buf_text(&recording->outfile), &content, &fault) == CLP_OK;
    if (held >= 0)
        close(held);
    if (!written)
        clp_recording_complain(recording, "cannot write the profile to", clp_buf_text(&recording->outfile), &fault);
    return written;
}

/* Writes the profile to standard output (-o -), or else to the temporary folder. */
static bool write_to_output(const struct clp_run *run, const char *bytes, size_t count)
{
    if (clp_file_put(run->profile_out, bytes, count))
        return true;
    const struct clp_fault fault = {.status = CLP_IO, .os_error = errno};
    clp_console_complain_of_place(me, NULL, &fault);
    return write_elsewhere(run, bytes, count);
}

bool clp_output_write(struct clp_run *run, const char *bytes, size_t count)
{
    if (run->profile_out >= 0)
        return write_to_output(run, bytes, count);
    if (!write_to_place(run, bytes, count))
        return write_elsewhere(run, bytes, count);
    say_written(run, clp_buf_text(&run->recording.outfile));
    return true;
}

bool clp_output_write_profile(struct clp_run *run, const struct clp_profile *profile)
{
    struct clp_mem mem = clp_mem_system();
    struct clp_buf bytes;
    bool written = false;

    clp_buf_init(&bytes, &mem);
    if (clp_wire_encode(profile, &bytes) != CLP_OK)
        clp_output_say_lost("out of memory; the profile is not written");
    else
        written = clp_output_write(run, clp_buf_text(&bytes), bytes.used);
    clp_buf_clear(&bytes);
    return written;
}
