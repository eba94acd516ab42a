/* SPDX-License-Identifier: MIT */
#include "interpreter.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

static void set_path(struct clp_buf *path, const char *folder, size_t bytes, const char *name)
{
    clp_buf_clear(path);
    clp_buf_add(path, folder, bytes);
    clp_buf_add_text(path, name);
}

static bool find_on_path(const char *name, struct clp_buf *found)
{
    const char *path = getenv("PATH");

    for (path = path == NULL ? "/usr/local/bin:/usr/bin:/bin" : path; path != NULL;) {
        size_t length = strcspn(path, ":");
        set_path(found, length == 0 ? "." : path, length == 0 ? 1 : length, "/");
        clp_buf_add_text(found, name);
        if (is_program(clp_buf_text(found)))
            return true;
        path = path[length] == ':' ? path + length + 1 : NULL;
    }
    return false;
}

static bool find_in_virtual_env(struct clp_buf *found)
{
    static const char *const names[] = {"/bin/python3", "/bin/python"};
    const char *folder = getenv("VIRTUAL_ENV");

    if (folder == NULL || *folder == '\0')
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        set_path(found, folder, strlen(folder), names[i]);
        if (is_program(clp_buf_text(found)))
            return true;
    }
    return false;
}

bool clp_interpreter_find(const struct clp_interpreter_wish *wish, struct clp_buf *path,
                          struct clp_buf *error)
{
    if (wish->named == NULL && wish->active && find_in_virtual_env(path))
        return true;
    const char *name = wish->named != NULL ? wish->named : wish->usual;
    if (strchr(name, '/') != NULL) {
        set_path(path, name, strlen(name), "");
        return true; /* if it cannot be run, execv says why */
    }
    if (find_on_path(name, path))
        return true;
    clp_buf_add_format(error, "no interpreter '%s' in PATH", name);
    return false;
}
