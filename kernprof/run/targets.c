/* SPDX-License-Identifier: MIT */
#include "targets.h"
#include "base/buf.h"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKAGE_ONLY ".__init__"

bool clp_targets_resolve(const char *path, char resolved[PATH_MAX])
{
    char start[PATH_MAX];
    size_t bytes = strlen(path), found;

    if (bytes >= sizeof start)
        return false;
    memcpy(start, path, bytes + 1);
    while (realpath(start, resolved) == NULL) {
        char *slash = strrchr(start, '/');
        if (slash == NULL || slash == start)
            return false;
        *slash = 0;
    }
    found = strcmp(resolved, "/") == 0 ? 0 : strlen(resolved);
    if (found + strlen(path + strlen(start)) >= PATH_MAX)
        return false;
    strcpy(resolved + found, path + strlen(start));
    for (found = strlen(resolved); found > 0 && resolved[found - 1] == '/'; found--)
        resolved[found - 1] = 0;
    return true;
}

const char *clp_targets_object(const char *text)
{
    const char *colon = strstr(text, ".py:");

    return colon != NULL ? colon + strlen(".py") + strspn(colon + strlen(".py"), ":") : NULL;
}

/* Copies the name of an object, with "." in place of ":" and "::" ("Class::method" is Class.method). NULL without
 * memory. */
static char *copy_object(struct clp_mem *mem, const char *text)
{
    struct clp_buf object;

    clp_buf_init(&object, mem);
    while (*text != 0) {
        size_t bytes = strcspn(text, ":"), colons = strspn(text + bytes, ":");
        clp_buf_add(&object, text, bytes);
        clp_buf_add_text(&object, colons != 0 ? "." : "");
        text += bytes + colons;
    }
    char *copy = object.failed ? NULL : clp_mem_copy_text(mem, clp_buf_text(&object), object.used);
    clp_buf_clear(&object);
    return copy;
}

static clp_status init_target(struct clp_target *target, struct clp_mem *mem, const char *text)
{
    char from_here[PATH_MAX], resolved[PATH_MAX];
    const char *object = clp_targets_object(text);
    size_t bytes = strlen(text), ending = strlen(PACKAGE_ONLY);
    size_t path_bytes = object != NULL ? (size_t)(strstr(text, ".py:") - text) + strlen(".py") : bytes;

    *target = (struct clp_target){.text = text, .name_bytes = bytes};
    if (bytes > ending && strcmp(text + bytes - ending, PACKAGE_ONLY) == 0) {
        target->name_bytes = bytes - ending;
        target->stops = true;
    }
    /* resolves also a path that does not exist, as the program may make the file later */
    if (snprintf(from_here, PATH_MAX, "%s%.*s", text[0] == '/' ? "" : "./", (int)path_bytes, text) >= PATH_MAX ||
        !clp_targets_resolve(from_here, resolved))
        return CLP_OK;
    target->path = clp_mem_copy_text(mem, resolved, strlen(resolved));
    target->object = object != NULL ? copy_object(mem, object) : NULL;
    return target->path != NULL && (target->object != NULL) == (object != NULL) ? CLP_OK : CLP_NO_MEMORY;
}

clp_status clp_targets_init(struct clp_targets *targets, struct clp_mem *mem,
                            const char *const *texts, size_t count)
{
    *targets = (struct clp_targets){.mem = mem};
    targets->items = clp_mem_alloc(mem, count, sizeof *targets->items);
    if (targets->items == NULL)
        return count == 0 ? CLP_OK : CLP_NO_MEMORY;
    targets->count = count;
    for (size_t i = 0; i < count; i++) {
        if (init_target(&targets->items[i], mem, texts[i]) != CLP_OK) {
            clp_targets_clear(targets);
            return CLP_NO_MEMORY;
        }
    }
    return CLP_OK;
}

void clp_targets_clear(struct clp_targets *targets)
{
    for (size_t i = 0; i < targets->count; i++) {
        clp_mem_free_text(targets->mem, targets->items[i].path);
        clp_mem_free_text(targets->mem, targets->items[i].object);
    }
    clp_mem_free(targets->mem, targets->items, targets->count, sizeof *targets->items);
    *targets = (struct clp_targets){.mem = targets->mem};
}

/* Returns the rest of `text` behind beginning[0..bytes) and the character `between`; "" when the beginning is all of
 * the text. NULL when the text begins otherwise, or goes on with another character. */
static const char *behind(const char *text, const char *beginning, size_t bytes, char between)
{
    if (strncmp(text, beginning, bytes) != 0)
        return NULL;
    if (text[bytes] == 0)
        return text + bytes;
    return text[bytes] == between ? text + bytes + 1 : NULL;
}

/* Is `name` the object `wanted` ("Class.method"), or something within it? "" wants everything; NULL is always wanted.
 * */
static bool matches_object(const char *wanted, const char *name)
{
    return name == NULL || *wanted == 0 || behind(name, wanted, strlen(wanted), '.') != NULL;
}

static bool matches_path(const struct clp_target *target, const struct clp_candidate *candidate)
{
    const char *within = target->path != NULL && candidate->file != NULL
                             ? behind(candidate->file, target->path, strlen(target->path), '/')
                             : NULL;

    if (within == NULL || target->object == NULL)
        return within != NULL;
    return *within == 0 && matches_object(target->object, candidate->name);
}

/* Is the candidate's module called by the name of its file, as a script is? A dot in such a name is no package's. */
static bool is_called_by_file(const struct clp_candidate *candidate)
{
    const char *slash = candidate->file != NULL ? strrchr(candidate->file, '/') : NULL;

    return slash != NULL && strncmp(slash + 1, candidate->module, strlen(candidate->module)) == 0;
}

static bool matches_name(const struct clp_target *target, const struct clp_candidate *candidate)
{
    const char *module = candidate->module;
    const char *within = behind(module, target->text, target->name_bytes, '.');

    if (within != NULL)
        return *within == 0 || (!target->stops && !is_called_by_file(candidate));
    const char *object = behind(target->text, module, strlen(module), '.');
    return object != NULL && !target->stops && matches_object(object, candidate->name);
}

static bool is_listed(char **patterns, const struct clp_candidate *candidate)
{
    for (; *patterns != NULL; patterns++) {
        if ((candidate->file != NULL && fnmatch(*patterns, candidate->file, 0) == 0) ||
            (candidate->name != NULL && fnmatch(*patterns, candidate->name, 0) == 0))
            return true;
    }
    return false;
}

bool clp_targets_exclude_name(const struct clp_targets *targets, const char *name)
{
    const struct clp_candidate candidate = {.name = name};

    return targets->excluded != NULL && is_listed(targets->excluded, &candidate);
}

bool clp_targets_want(const struct clp_targets *targets, const struct clp_candidate *candidate)
{
    return candidate->name == NULL ||
           ((targets->included == NULL || is_listed(targets->included, candidate)) &&
            (targets->excluded == NULL || !is_listed(targets->excluded, candidate)));
}

static bool matches(const struct clp_target *target, const struct clp_candidate *candidate)
{
    return matches_path(target, candidate) || matches_name(target, candidate);
}

const struct clp_target *clp_targets_find(const struct clp_targets *targets,
                                          const struct clp_candidate *candidate)
{
    if (!clp_targets_want(targets, candidate))
        return NULL;
    for (size_t i = 0; i < targets->count; i++) {
        if (matches(&targets->items[i], candidate))
            return &targets->items[i];
    }
    return NULL;
}

bool clp_targets_select(struct clp_targets *targets, const struct clp_candidate *candidate)
{
    bool wanted = clp_targets_want(targets, candidate), selected = false;

    for (size_t i = 0; i < targets->count; i++) {
        bool matched = matches(&targets->items[i], candidate);
        targets->items[i].matched += matched && wanted;
        targets->items[i].left_out += matched && !wanted;
        selected |= matched && wanted;
    }
    return selected;
}
