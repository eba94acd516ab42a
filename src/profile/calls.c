/* SPDX-License-Identifier: MIT */
/* profile->call_index maps the hash of a context's key to its place, as profile->index does for functions: equal
 * hashes are stored under hash, hash + 1 and so on. */
#include "calls.h"

static uint64_t hash_call(const struct clp_profile_call *call)
{
    uint32_t key[] = {call->parent, (uint32_t)call->line, call->function, call->through};

    return clp_hash_text(0, (const char *)key, sizeof key);
}

static bool same_key(const struct clp_profile_call *a, const struct clp_profile_call *b)
{
    return a->parent == b->parent && a->line == b->line && a->function == b->function &&
           a->through == b->through;
}

/* Returns the context with the key of `call`, or NULL. With NULL, *hash is the free number under which the index
 * stores it. */
static struct clp_profile_call *find_call(struct clp_profile *profile,
                                          const struct clp_profile_call *call, uint64_t *hash)
{
    uint64_t place;

    for (*hash = hash_call(call); clp_hashmap_get(&profile->call_index, *hash, &place); ++*hash)
        if (same_key(&profile->calls[place], call))
            return &profile->calls[place];
    return NULL;
}

static clp_status append_call(struct clp_profile *profile, const struct clp_profile_call *call,
                              uint64_t hash)
{
    void *block = profile->calls;
    clp_status status = CLP_OK;

    if (profile->call_count == CLP_CALL_DEEPER - 1) /* parents are places plus 1 in 32 bits */
        return CLP_NO_MEMORY;
    if (profile->call_count == profile->call_room)
        status = clp_mem_grow(profile->mem, &block, &profile->call_room,
                              profile->call_room == 0 ? 16 : profile->call_room * 2, sizeof *call);
    profile->calls = block;
    if (status == CLP_OK)
        status = clp_hashmap_set(&profile->call_index, hash, profile->call_count);
    if (status == CLP_OK)
        profile->calls[profile->call_count++] = *call;
    return status;
}

static int64_t sum_signed(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

clp_status clp_profile_add_call(struct clp_profile *profile, const struct clp_profile_call *call,
                                uint32_t *place)
{
    uint64_t hash;
    struct clp_profile_call *found = find_call(profile, call, &hash);

    if (found != NULL) {
        found->calls = clp_measures_sum(found->calls, call->calls);
        found->time = clp_measures_sum(found->time, call->time);
        found->again = clp_measures_sum(found->again, call->again);
        found->increment = sum_signed(found->increment, call->increment);
    } else if (append_call(profile, call, hash) != CLP_OK) {
        return CLP_NO_MEMORY;
    } else {
        found = &profile->calls[profile->call_count - 1];
    }
    if (place != NULL)
        *place = (uint32_t)(found - profile->calls);
    return CLP_OK;
}

/* ---- walks through the whole tree ---- */

/* The tree from its roots on, and the path to where a walk is. All numbers are places plus 1; 0: none. */
struct tree {
    const struct clp_profile *profile;
    const uint32_t *functions; /* for each function of the profile, the number that stands for it; NULL: its place */
    size_t function_count;     /* these numbers are below */
    uint32_t *first; /* first[0] is the first root, first[i] the first context called from the context i - 1 */
    uint32_t *next;  /* next[i] is the sibling behind the context i - 1 */
    uint32_t *path;  /* for each function: the context on the path that is its home */
};

static void clear_tree(struct tree *tree)
{
    struct clp_mem *mem = tree->profile->mem;

    clp_mem_free(mem, tree->first, tree->profile->call_count + 1, sizeof *tree->first);
    clp_mem_free(mem, tree->next, tree->profile->call_count + 1, sizeof *tree->next);
    clp_mem_free(mem, tree->path, tree->function_count + 1, sizeof *tree->path);
}

/* On failure the tree must still be cleared. */
static clp_status make_tree(struct tree *tree)
{
    const struct clp_profile *profile = tree->profile;

    tree->first = clp_mem_alloc(profile->mem, profile->call_count + 1, sizeof *tree->first);
    tree->next = clp_mem_alloc(profile->mem, profile->call_count + 1, sizeof *tree->next);
    tree->path = clp_mem_alloc(profile->mem, tree->function_count + 1, sizeof *tree->path);
    if (tree->first == NULL || tree->next == NULL || tree->path == NULL)
        return CLP_NO_MEMORY;
    for (size_t i = profile->call_count; i > 0; i--) {
        uint32_t parent = profile->calls[i - 1].parent;
        tree->next[i] = tree->first[parent];
        tree->first[parent] = (uint32_t)i;
    }
    return CLP_OK;
}

/* Returns where the path keeps the home of the function of context `at`; NULL: contexts CLP_CALL_DEEPER share none. */
static uint32_t *home_on_path(struct tree *tree, uint32_t at)
{
    uint32_t function = tree->profile->calls[at - 1].function;

    if (function != CLP_CALL_DEEPER && tree->functions != NULL)
        function = tree->functions[function];
    return function != CLP_CALL_DEEPER ? &tree->path[function] : NULL;
}

/* Puts context `at` on the path. Returns its home. */
static uint32_t enter(struct tree *tree, uint32_t at)
{
    uint32_t *home = home_on_path(tree, at);

    if (home == NULL)
        return at;
    if (*home == 0)
        *home = at;
    return *home;
}

static void leave(struct tree *tree, uint32_t at)
{
    uint32_t *home = home_on_path(tree, at);

    if (home != NULL && *home == at)
        *home = 0;
}

/* Returns the context to walk to when everything below `at` has been walked; 0: none is left. */
static uint32_t next_branch(struct tree *tree, uint32_t at)
{
    while (at != 0) {
        leave(tree, at);
        if (tree->next[at] != 0)
            return tree->next[at];
        at = tree->profile->calls[at - 1].parent;
    }
    return 0;
}

/* Sets homes[i] to the home of context i. The caller has filled in what the tree is of. */
static clp_status find_homes(struct tree *tree, uint32_t *homes)
{
    clp_status status = make_tree(tree);
    uint32_t at = status == CLP_OK ? tree->first[0] : 0;

    while (at != 0) {
        homes[at - 1] = enter(tree, at) - 1;
        at = tree->first[at] != 0 ? tree->first[at] : next_branch(tree, at);
    }
    clear_tree(tree);
    return status;
}

clp_status clp_profile_call_homes(const struct clp_profile *profile, uint32_t *homes)
{
    struct tree tree = {.profile = profile, .function_count = profile->function_count};

    return find_homes(&tree, homes);
}

static uint64_t whole_time(const struct clp_profile_call *call)
{
    return clp_measures_sum(call->time, call->again);
}

/* Adds the times of all contexts to their homes, then takes each off its caller. */
static void share_out(const struct clp_profile *profile, const uint32_t *homes, uint64_t *self)
{
    for (size_t i = 0; i < profile->call_count; i++)
        self[i] = 0;
    for (size_t i = 0; i < profile->call_count; i++)
        self[homes[i]] = clp_measures_sum(self[homes[i]], whole_time(&profile->calls[i]));
    for (size_t i = 0; i < profile->call_count; i++) {
        uint32_t parent = profile->calls[i].parent;
        uint64_t time = whole_time(&profile->calls[i]);
        if (parent != 0)
            self[parent - 1] -= time < self[parent - 1] ? time : self[parent - 1];
    }
}

clp_status clp_profile_call_selves(const struct clp_profile *profile, uint64_t *self)
{
    size_t room = profile->call_count + 1;
    uint32_t *homes = clp_mem_alloc(profile->mem, room, sizeof *homes);
    clp_status status = homes != NULL ? clp_profile_call_homes(profile, homes) : CLP_NO_MEMORY;

    if (status == CLP_OK)
        share_out(profile, homes, self);
    clp_mem_free(profile->mem, homes, room, sizeof *homes);
    return status;
}

/* ---- merging ---- */

/* Where contexts go that are called from a context of the other profile. */
struct caller {
    uint32_t place; /* plus 1; 0: they have no caller */
    int32_t line;   /* with `left_out`: the line that they are called from */
    bool left_out;
};

/* Adds context i. Where two functions of `from` are one function of `into`, recursion can become visible only here:
 * what such a context called goes to its home. */
static clp_status add_call(struct clp_profile *into, const struct clp_profile *from, size_t i,
                           const uint32_t *functions, const uint32_t *homes, struct caller *callers)
{
    struct clp_profile_call call = from->calls[i];
    struct caller caller = {.place = 0};
    uint32_t place;

    if (call.parent != 0)
        caller = callers[homes[call.parent - 1]];
    call.parent = caller.place;
    if (caller.left_out) {
        call.line = caller.line;
        call.through = caller.place != 0;
    }
    if (call.function != CLP_CALL_DEEPER) {
        call.function = functions[call.function];
        if (call.function == CLP_CALL_DEEPER) {
            callers[i] = (struct caller){caller.place, caller.place != 0 ? call.line : 0, true};
            return CLP_OK;
        }
    }
    clp_status status = clp_profile_add_call(into, &call, &place);
    callers[i] = (struct caller){.place = place + 1};
    return status;
}

clp_status clp_profile_merge_calls(struct clp_profile *into, const struct clp_profile *from,
                                   const uint32_t *functions)
{
    struct tree tree = {.profile = from, .functions = functions, .function_count = into->function_count};
    size_t count = from->call_count;
    clp_status status = CLP_NO_MEMORY;

    into->calls_cut = clp_measures_sum(into->calls_cut, from->calls_cut);
    if (count == 0)
        return CLP_OK;
    uint32_t *homes = clp_mem_alloc(from->mem, count, sizeof *homes);
    struct caller *callers = clp_mem_alloc(from->mem, count, sizeof *callers);
    if (homes != NULL && callers != NULL)
        status = find_homes(&tree, homes);
    for (size_t i = 0; i < count && status == CLP_OK; i++)
        status = add_call(into, from, i, functions, homes, callers);
    clp_mem_free(from->mem, callers, count, sizeof *callers);
    clp_mem_free(from->mem, homes, count, sizeof *homes);
    return status;
}
