/* SPDX-License-Identifier: MIT */
#include "family_files.h"
#include "console.h"
#include "formats/live/live_peek.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RUN_BITS UINT64_C(0xffffffffffff) /* as many has the number of a run in names of files */

/* What tells the family's files from others. */
struct family {
    uint64_t run;
    uint32_t owner, user;
    char ending[40]; /* of the name of the sum: "-9f3c2a1b5d7e.ended.lprof" */
};

static bool has_ending(const char *name, const char *ending)
{
    size_t bytes = strlen(name), wanted = strlen(ending);

    return bytes > wanted && strcmp(name + bytes - wanted, ending) == 0;
}

/* Finds out of what family the live file is. False: of none. */
static bool look(const char *path, struct family *family)
{
    struct clp_live_header header;
    struct stat about;

    if (!clp_live_peek_at(path, &header, NULL) || header.run == 0 || stat(path, &about) != 0)
        return false;
    *family = (struct family){header.run, about.st_uid, header.user, ""};
    (void)snprintf(family->ending, sizeof family->ending, "-%012llx.ended.lprof",
                   (unsigned long long)(header.run & RUN_BITS));
    return true;
}

static bool is_trusted(const struct family *family, uint32_t owner)
{
    return owner == family->owner || owner == family->user || owner == 0;
}

/* Is it a file of the family? *first: it is the live file of the process that the run began with. */
static bool belongs(const struct family *family, const char *path, bool *first)
{
    struct clp_live_header header;
    struct stat about;
    uint32_t owner;

    *first = false;
    if (has_ending(path, family->ending))
        return lstat(path, &about) == 0 && S_ISREG(about.st_mode) && is_trusted(family, about.st_uid);
    if (!has_ending(path, ".live") || !clp_live_peek_at(path, &header, &owner) || header.run != family->run)
        return false;
    *first = header.parent == 0;
    return is_trusted(family, owner);
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Lists the names: the first process's, and then the others in their order. */
static void list_names(struct clp_family_files *files)
{
    bool failed = files->first.failed || files->others.failed;

    files->items = failed ? NULL : clp_mem_alloc(files->mem, files->count, sizeof *files->items);
    if (files->items == NULL)
        files->count = 0;
    size_t listed = 0;
    if (files->count != 0 && files->first.used != 0)
        files->items[listed++] = files->first.bytes;
    char **others = files->items + listed, *at = files->others.bytes;
    for (; listed < files->count; at += strlen(at) + 1)
        files->items[listed++] = at;
    if (files->count > 1)
        qsort(others, files->count - (size_t)(others - files->items), sizeof *others, compare);
}

/* Adds the files of the folder. The file that is named is the first process's even if there are copies of it. */
static void add_names(struct clp_family_files *files, const struct family *family, const char *folder, const char *named)
{
    DIR *entries = opendir(folder[0] != 0 ? folder : ".");
    struct dirent *entry;
    struct clp_buf path;
    bool first;

    clp_buf_init(&path, files->mem);
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        clp_buf_cut(&path, 0);
        clp_buf_add_format(&path, "%s%s", folder, entry->d_name);
        if (!belongs(family, clp_buf_text(&path), &first))
            continue;
        if (first && strcmp(clp_buf_text(&path), named) == 0 && files->first.used != 0) {
            clp_buf_add(&files->others, clp_buf_text(&files->first), files->first.used + 1);
            clp_buf_cut(&files->first, 0);
        }
        if (first && files->first.used == 0)
            clp_buf_add_text(&files->first, clp_buf_text(&path));
        else
            clp_buf_add(&files->others, clp_buf_text(&path), path.used + 1);
        files->count++;
    }
    if (entries != NULL)
        closedir(entries);
    clp_buf_clear(&path);
}

void clp_family_files_find(struct clp_family_files *files, const char *path, struct clp_mem *mem)
{
    const char *slash = strrchr(path, '/');
    struct family family;
    struct clp_buf folder;

    *files = (struct clp_family_files){.mem = mem};
    clp_buf_init(&files->first, mem);
    clp_buf_init(&files->others, mem);
    if (!look(path, &family))
        return;
    clp_buf_init(&folder, mem);
    clp_buf_add(&folder, path, slash != NULL ? (size_t)(slash - path) + 1 : 0);
    add_names(files, &family, clp_buf_text(&folder), path);
    clp_buf_clear(&folder);
    list_names(files);
}

void clp_family_files_clear(struct clp_family_files *files)
{
    clp_mem_free(files->mem, files->items, files->count, sizeof *files->items);
    clp_buf_clear(&files->first);
    clp_buf_clear(&files->others);
}

bool clp_family_files_lead(const struct clp_family_files *files, const char *path)
{
    return files->count > 1 && files->first.used != 0 && strcmp(files->items[0], path) == 0;
}

void clp_family_files_add_count(const struct clp_family_files *files, struct clp_buf *out)
{
    clp_buf_add_format(out, "%zu file%s of its child processes", files->count - 1, clp_buf_plural(files->count - 1));
}

void clp_family_files_add_command(const char *first, struct clp_buf *out)
{
    clp_buf_add_text(out, "; to join them run: clineprof recover ");
    clp_console_add_quoted(out, first);
}
