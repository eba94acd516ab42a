/* SPDX-License-Identifier: MIT */
#include "merge_names.h"
#include "base/buf.h"
#include "bridge/console.h"
#include <string.h>
#include <sys/stat.h>

static const char me[] = "clineprof";

static bool complain_of_memory(void)
{
    clp_console_complain(me, clp_status_text(CLP_NO_MEMORY));
    return false;
}

static bool add(struct clp_merge_names *names, char *name)
{
    if (names->count == names->room &&
        clp_mem_grow(names->mem, (void **)&names->items, &names->room, names->room * 2 + 16, sizeof *names->items) !=
            CLP_OK)
        return complain_of_memory();
    names->items[names->count++] = name;
    return true;
}

/* Adds the files that match. Sets *any to whether there are any. */
static bool add_matches(struct clp_merge_names *names, const char *pattern, bool *any)
{
    size_t first = names->found.gl_pathc;
    int result = glob(pattern, first != 0 ? GLOB_APPEND : 0, NULL, &names->found);
    bool good = result != GLOB_NOSPACE || complain_of_memory();

    *any = result == 0;
    for (size_t i = first; good && *any && i < names->found.gl_pathc; i++)
        good = add(names, names->found.gl_pathv[i]);
    return good;
}

static bool add_folder(struct clp_merge_names *names, const char *folder)
{
    struct clp_buf pattern;
    bool any = false;

    clp_buf_init(&pattern, names->mem);
    for (const char *at = folder; *at != 0; at++) {
        if (strchr("*?[\\", *at) != NULL)
            clp_buf_add_text(&pattern, "\\");
        clp_buf_add(&pattern, at, 1);
    }
    clp_buf_add_text(&pattern, "/*.lprof");
    bool good = pattern.failed ? complain_of_memory() : add_matches(names, clp_buf_text(&pattern), &any);
    clp_buf_clear(&pattern);
    if (good && !any) {
        clp_console_complain_format(me, "%s: the folder has no files *.lprof", folder);
        good = false;
    }
    return good;
}

static bool add_word(struct clp_merge_names *names, char *word)
{
    struct stat about;
    bool any = false;

    if (stat(word, &about) == 0)
        return S_ISDIR(about.st_mode) ? add_folder(names, word) : add(names, word);
    if (strpbrk(word, "*?[") != NULL && !add_matches(names, word, &any))
        return false;
    return any || add(names, word);
}

bool clp_merge_names_find(struct clp_merge_names *names, char *const *words, int count, struct clp_mem *mem)
{
    bool good = true;

    *names = (struct clp_merge_names){.mem = mem};
    for (int i = 0; i < count && good; i++)
        good = add_word(names, words[i]);
    return good;
}

void clp_merge_names_clear(struct clp_merge_names *names)
{
    clp_mem_free(names->mem, names->items, names->room, sizeof *names->items);
    if (names->found.gl_pathc != 0)
        globfree(&names->found);
}
