/* SPDX-License-Identifier: MIT */
/* The index maps the hash of a function's key to its place. Functions whose hashes are equal sit
 * at hash, hash + 1, hash + 2 and so on, up to the first key that is not in the map; nothing is
 * ever taken out, so that chain has no holes.
 *
 * `variants` is used by merges of functions whose texts differ. It maps the hash of a key without
 * " (2)", and of a text, to the place of the function that has both; and the hash of such a key alone
 * to the highest number given to one, so that no chain of numbers is ever walked twice. */
#include "profile.h"
#include "source_block.h"
#include "engine/functions.h"
#include <stdio.h>
#include <string.h>

static uint64_t sum_uint64_t(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* A foreign file may hold any number: stop at the ends, never overflow. */
static int64_t sum_int64_t(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b)
        return INT64_MIN;
    return a + b;
}

static uint64_t max_uint64_t(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static int64_t maxabs_int64_t(int64_t a, int64_t b)
{
    return magnitude(b) > magnitude(a) ? b : a;
}

#define SUM(type) sum_##type
#define MAX(type) max_##type
#define MAXABS(type) maxabs_##type

void clp_measures_merge(struct clp_measures *into, const struct clp_measures *from)
{
#define MERGE_FIELD(name, type, merge) into->name = merge(type)(into->name, from->name);
    CLP_MEASURE_TABLE(MERGE_FIELD)
#undef MERGE_FIELD
}

int64_t clp_measures_increment(const struct clp_measures *measures)
{
    uint64_t grown = measures->grown, released = measures->released;

    if (grown >= released)
        return grown - released > INT64_MAX ? INT64_MAX : (int64_t)(grown - released);
    return released - grown > INT64_MAX ? -INT64_MAX : -(int64_t)(released - grown);
}

bool clp_profile_scale_time(double scale, uint64_t *value)
{
    if (scale == 1)
        return true;
    double scaled = (double)*value * scale + 0.5;
    if (!(scaled < 18446744073709551616.0)) /* 2 to the 64th; false for a NaN too */
        return false;
    *value = (uint64_t)scaled;
    return true;
}

double clp_measures_value(const struct clp_measures *measures, enum clp_measures_field field)
{
    switch (field) {
#define MEASURE_CASE(name, type, merge) \
    case CLP_MEASURES_##name:           \
        return (double)measures->name;
        CLP_MEASURE_TABLE(MEASURE_CASE)
#undef MEASURE_CASE
    case CLP_MEASURES_increment:
        return (double)clp_measures_increment(measures);
    }
    return 0;
}

void clp_profile_init(struct clp_profile *profile, struct clp_mem *mem)
{
    *profile = (struct clp_profile){.mem = mem};
    clp_hashmap_init(&profile->index, mem);
    clp_hashmap_init(&profile->variants, mem);
    clp_buf_init(&profile->file, mem);
}

static void clear_source(struct clp_mem *mem, struct clp_profile_function *function)
{
    if (!function->source_in_file)
        clp_mem_free(mem, function->source, function->source_bytes + 1, 1);
    function->source = NULL;
    function->source_bytes = 0;
    function->source_in_file = false;
}

static void clear_function(struct clp_mem *mem, struct clp_profile_function *function)
{
    clp_mem_free_text(mem, function->file);
    clp_mem_free_text(mem, function->name);
    clp_mem_free_text(mem, function->compiler);
    clp_mem_free(mem, function->lines, function->line_room, sizeof *function->lines);
    clp_mem_free(mem, function->leaks, function->leak_room, sizeof *function->leaks);
    clear_source(mem, function);
}

static void clear_series(struct clp_mem *mem, struct clp_profile_series *series)
{
    for (size_t i = 0; i < series->mark_count; i++) {
        clp_mem_free_text(mem, series->marks[i].file);
        clp_mem_free_text(mem, series->marks[i].name);
    }
    clp_mem_free(mem, series->marks, series->mark_room, sizeof *series->marks);
    clp_mem_free(mem, series->time, series->time_room, sizeof *series->time);
    clp_mem_free(mem, series->rss, series->rss_room, sizeof *series->rss);
}

static void clear_process(struct clp_mem *mem, struct clp_profile_process *process)
{
    clp_mem_free_text(mem, process->name);
    clp_mem_free(mem, process->numbers, process->numbers_bytes, 1);
}

void clp_profile_clear(struct clp_profile *profile)
{
    struct clp_mem *mem = profile->mem;

    for (size_t i = 0; i < profile->function_count; i++)
        clear_function(mem, &profile->functions[i]);
    clp_mem_free(mem, profile->functions, profile->function_room, sizeof *profile->functions);
    for (size_t i = 0; i < profile->series_count; i++)
        clear_series(mem, &profile->series[i]);
    clp_mem_free(mem, profile->series, profile->series_room, sizeof *profile->series);
    for (size_t i = 0; i < profile->process_count; i++)
        clear_process(mem, &profile->processes[i]);
    clp_mem_free(mem, profile->processes, profile->process_room, sizeof *profile->processes);
    clp_hashmap_clear(&profile->index);
    clp_hashmap_clear(&profile->variants);
    clp_mem_free_text(mem, profile->meta.python);
    clp_mem_free_text(mem, profile->meta.tracer);
    clp_mem_free_text(mem, profile->meta.command);
    clp_mem_free_text(mem, profile->meta.memory);
    clp_mem_free_text(mem, profile->meta.leak_epoch);
    clp_buf_clear(&profile->file);
    clp_profile_init(profile, mem);
}

static uint64_t hash_key(const char *file, const char *name, int32_t first_line)
{
    uint64_t hash = clp_hash_text(0, file, strlen(file));

    hash = clp_hash_text(hash, name, strlen(name));
    return clp_hash_text(hash, (const char *)&first_line, sizeof first_line);
}

/* The function with this key, or NULL and *hash then is where the index takes it. */
static struct clp_profile_function *find_function(struct clp_profile *profile, const char *file,
                                                  const char *name, int32_t first_line,
                                                  uint64_t *hash)
{
    uint64_t place;

    for (*hash = hash_key(file, name, first_line);
         clp_hashmap_get(&profile->index, *hash, &place); ++*hash) {
        struct clp_profile_function *function = &profile->functions[place];
        if (function->first_line == first_line && strcmp(function->name, name) == 0 &&
            strcmp(function->file, file) == 0)
            return function;
    }
    return NULL;
}

/* Room for one more item after `count`; doubled where there is none. */
static clp_status reserve(struct clp_mem *mem, void **items, size_t *room, size_t count,
                          size_t bytes)
{
    if (count < *room)
        return CLP_OK;
    return clp_mem_grow(mem, items, room, *room == 0 ? 8 : *room * 2, bytes);
}

/* Makes room in a typed array, which clp_mem_grow must not see through another type. */
#define RESERVE(status, mem, items, room, count)                          \
    do {                                                                  \
        void *block = (items);                                            \
        (status) = reserve(mem, &block, &(room), count, sizeof *(items)); \
        (items) = block;                                                  \
    } while (0)

/* Appends the function and enters it in the index under `hash`, which is free. */
static clp_status append_function(struct clp_profile *profile, const char *file, const char *name,
                                  uint64_t hash)
{
    clp_status status;

    RESERVE(status, profile->mem, profile->functions, profile->function_room,
            profile->function_count);
    if (status != CLP_OK)
        return status;
    struct clp_profile_function *function = &profile->functions[profile->function_count];
    *function = (struct clp_profile_function){0};
    function->file = clp_mem_copy_text(profile->mem, file, strlen(file));
    function->name = clp_mem_copy_text(profile->mem, name, strlen(name));
    if (function->file == NULL || function->name == NULL ||
        clp_hashmap_set(&profile->index, hash, profile->function_count) != CLP_OK) {
        clear_function(profile->mem, function);
        return CLP_NO_MEMORY;
    }
    profile->function_count++;
    return CLP_OK;
}

clp_status clp_profile_add_function(struct clp_profile *profile, const char *file, const char *name,
                                    int32_t first_line, struct clp_profile_function **function)
{
    uint64_t hash;
    struct clp_profile_function *found = find_function(profile, file, name, first_line, &hash);

    if (found == NULL) {
        if (append_function(profile, file, name, hash) != CLP_OK)
            return CLP_NO_MEMORY;
        found = &profile->functions[profile->function_count - 1];
        found->first_line = first_line;
    }
    *function = found;
    return CLP_OK;
}

/* "NAME", or "NAME (2)" and so on for those that come later. */
static void number_name(struct clp_buf *numbered, const char *name, unsigned number)
{
    clp_buf_cut(numbered, 0);
    clp_buf_add_text(numbered, name);
    if (number > 1)
        clp_buf_add_format(numbered, " (%u)", number);
}

clp_status clp_profile_add_version(struct clp_profile *profile, const char *file, const char *name,
                                   int32_t first_line, uint32_t text,
                                   struct clp_profile_function **function)
{
    struct clp_profile_function *found = NULL;
    struct clp_buf numbered;
    unsigned number = 0;
    uint64_t hash;

    clp_buf_init(&numbered, profile->mem);
    do {
        number_name(&numbered, name, ++number);
        if (!numbered.failed)
            found = find_function(profile, file, clp_buf_text(&numbered), first_line, &hash);
    } while (found != NULL && found->text != text);
    clp_status status = numbered.failed ? CLP_NO_MEMORY
                        : found != NULL ? CLP_OK
                                        : clp_profile_add_function(profile, file,
                                                                   clp_buf_text(&numbered),
                                                                   first_line, &found);
    clp_buf_clear(&numbered);
    if (status != CLP_OK)
        return status;
    found->text = text;
    found->source_changed = text == CLP_TEXT_CHANGED;
    *function = found;
    return CLP_OK;
}

/* Room for `extra` more lines; at least doubled when there was too little. */
static clp_status reserve_lines(struct clp_mem *mem, struct clp_profile_function *function,
                                size_t extra)
{
    size_t wanted = function->line_count + extra;

    if (wanted <= function->line_room)
        return CLP_OK;
    if (wanted < function->line_room * 2)
        wanted = function->line_room * 2;
    if (wanted < 4)
        wanted = 4;
    void *block = function->lines;
    clp_status status =
        clp_mem_grow(mem, &block, &function->line_room, wanted, sizeof *function->lines);
    function->lines = block;
    return status;
}

clp_status clp_profile_reserve_lines(struct clp_profile *profile,
                                     struct clp_profile_function *function, size_t count)
{
    return count <= function->line_count
               ? CLP_OK
               : reserve_lines(profile->mem, function, count - function->line_count);
}

/* The place of the first line that is not below this one. */
static size_t line_place(const struct clp_profile_function *function, int32_t line)
{
    size_t low = 0, high = function->line_count;

    if (high == 0 || function->lines[high - 1].line < line)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (function->lines[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

clp_status clp_profile_add_line(struct clp_profile *profile, struct clp_profile_function *function,
                                int32_t line, const struct clp_measures *measures)
{
    size_t place = line_place(function, line);

    if (place < function->line_count && function->lines[place].line == line) {
        clp_measures_merge(&function->lines[place].measures, measures);
        return CLP_OK;
    }
    if (reserve_lines(profile->mem, function, 1) != CLP_OK)
        return CLP_NO_MEMORY;
    struct clp_profile_line *lines = function->lines;
    memmove(&lines[place + 1], &lines[place], (function->line_count - place) * sizeof *lines);
    lines[place] = (struct clp_profile_line){.line = line, .measures = *measures};
    function->line_count++;
    return CLP_OK;
}

clp_status clp_profile_add_leak(struct clp_profile *profile, struct clp_profile_function *function,
                                const struct clp_profile_leak *leak)
{
    size_t place = function->leak_count; /* they mostly come in order */
    clp_status status;

    while (place > 0 && function->leaks[place - 1].line >= leak->line)
        place--;
    if (place < function->leak_count && function->leaks[place].line == leak->line) {
        if (leak->bytes > function->leaks[place].bytes)
            function->leaks[place] = *leak;
        return CLP_OK;
    }
    RESERVE(status, profile->mem, function->leaks, function->leak_room, function->leak_count);
    if (status != CLP_OK)
        return status;
    memmove(&function->leaks[place + 1], &function->leaks[place],
            (function->leak_count++ - place) * sizeof *leak);
    function->leaks[place] = *leak;
    return CLP_OK;
}

clp_status clp_profile_add_series(struct clp_profile *profile, uint64_t pid, double start,
                                  struct clp_profile_series **series)
{
    clp_status status;

    RESERVE(status, profile->mem, profile->series, profile->series_room, profile->series_count);
    if (status != CLP_OK)
        return status;
    *series = &profile->series[profile->series_count++];
    **series = (struct clp_profile_series){.pid = pid, .start = start};
    return CLP_OK;
}

clp_status clp_profile_add_sample(struct clp_profile *profile, struct clp_profile_series *series,
                                  uint64_t time, uint64_t rss)
{
    clp_status status;

    RESERVE(status, profile->mem, series->time, series->time_room, series->count);
    if (status == CLP_OK)
        RESERVE(status, profile->mem, series->rss, series->rss_room, series->count);
    if (status != CLP_OK)
        return status;
    series->time[series->count] = time;
    series->rss[series->count++] = rss;
    return CLP_OK;
}

clp_status clp_profile_add_mark(struct clp_profile *profile, struct clp_profile_series *series,
                                const struct clp_profile_mark *mark)
{
    struct clp_mem *mem = profile->mem;
    struct clp_profile_mark copy = *mark;
    clp_status status;

    RESERVE(status, mem, series->marks, series->mark_room, series->mark_count);
    if (status != CLP_OK)
        return status;
    copy.file = clp_mem_copy_text(mem, mark->file, strlen(mark->file));
    copy.name = clp_mem_copy_text(mem, mark->name, strlen(mark->name));
    if (copy.file == NULL || copy.name == NULL) {
        clp_mem_free_text(mem, copy.file);
        clp_mem_free_text(mem, copy.name);
        return CLP_NO_MEMORY;
    }
    series->marks[series->mark_count++] = copy;
    return CLP_OK;
}

clp_status clp_profile_set_source(struct clp_profile *profile,
                                  struct clp_profile_function *function, const char *text,
                                  size_t bytes)
{
    char *copy = NULL;

    if (bytes != 0) {
        copy = clp_mem_copy_text(profile->mem, text, bytes);
        if (copy == NULL)
            return CLP_NO_MEMORY;
    }
    clear_source(profile->mem, function);
    function->source = copy;
    function->source_bytes = bytes;
    return CLP_OK;
}

static int32_t last_line(const struct clp_profile_function *function)
{
    if (function->line_count == 0)
        return function->first_line;
    return function->lines[function->line_count - 1].line;
}

/* A `with` block may have any name; a lambda or a comprehension may begin on the line of one. */
static bool may_be_with(const struct clp_profile_function *function)
{
    const char *dot = strrchr(function->name, '.'), *own = dot != NULL ? dot + 1 : function->name;

    return *own != '<' || strcmp(own, "<block>") == 0;
}

static int32_t source_end(const struct clp_profile_function *function, struct clp_span text,
                          int32_t first)
{
    return may_be_with(function) ? clp_source_with_end(text, first)
                                 : clp_source_block_end(text, first);
}

clp_status clp_profile_cut_source(struct clp_profile *profile,
                                  struct clp_profile_function *function,
                                  struct clp_source_walk *walk)
{
    int32_t base = function->first_line > 1 ? function->first_line - 1 : 0, end;
    struct clp_span lines;

    if (walk->text.bytes == 0) /* a package's __init__.py, often: it is known, and has no lines */
        return clp_profile_set_source(profile, function, "\n", 1);
    clp_source_walk_to(walk, base + 1);
    end = base + source_end(function, walk->rest, function->first_line - base);
    if (end < last_line(function))
        end = last_line(function);
    lines = clp_source_lines(walk->rest, function->first_line - base, end - base);
    return clp_profile_set_source(profile, function, lines.text, lines.bytes);
}

clp_status clp_profile_set_text(struct clp_profile *profile, char **text, const char *value)
{
    char *copy = NULL;

    if (value != NULL) {
        copy = clp_mem_copy_text(profile->mem, value, strlen(value));
        if (copy == NULL)
            return CLP_NO_MEMORY;
    }
    clp_mem_free_text(profile->mem, *text);
    *text = copy;
    return CLP_OK;
}

/* How many of from's lines `into` does not have. */
static size_t count_new_lines(const struct clp_profile_function *into,
                              const struct clp_profile_function *from)
{
    size_t i = 0, fresh = 0;

    for (size_t j = 0; j < from->line_count; j++) {
        while (i < into->line_count && into->lines[i].line < from->lines[j].line)
            i++;
        if (i == into->line_count || into->lines[i].line != from->lines[j].line)
            fresh++;
    }
    return fresh;
}

/* Two ascending lists into one, from the back, so that it happens in place and takes one pass:
 * inserting line by line would take quadratic time where two large functions alternate. */
static clp_status merge_lines(struct clp_mem *mem, struct clp_profile_function *into,
                              const struct clp_profile_function *from)
{
    size_t fresh = count_new_lines(into, from);

    if (reserve_lines(mem, into, fresh) != CLP_OK)
        return CLP_NO_MEMORY;
    size_t i = into->line_count, j = from->line_count, out = i + fresh;
    into->line_count = out;
    while (j > 0) {
        const struct clp_profile_line *other = &from->lines[j - 1];
        if (i > 0 && into->lines[i - 1].line > other->line) {
            into->lines[--out] = into->lines[--i];
        } else if (i > 0 && into->lines[i - 1].line == other->line) {
            into->lines[--out] = into->lines[--i];
            clp_measures_merge(&into->lines[out].measures, &other->measures);
            into->lines[out].running |= other->running;
            j--;
        } else {
            into->lines[--out] = *other;
            j--;
        }
    }
    return CLP_OK;
}

/* A module's text goes as far as it ran, which is not everywhere the same: `if __name__ == ..`. */
static bool same_source(const struct clp_profile_function *a, const struct clp_profile_function *b)
{
    size_t bytes = a->source_bytes < b->source_bytes ? a->source_bytes : b->source_bytes;

    if (a->source_changed || b->source_changed)
        return a->source_changed == b->source_changed;
    return a->source == NULL || b->source == NULL ||
           ((a->source_bytes == b->source_bytes || strcmp(a->name, "<module>") == 0) &&
            memcmp(a->source, b->source, bytes) == 0);
}

/* Bytes of a name without the " (2)" of a version. */
static size_t plain_name_bytes(const char *name)
{
    size_t bytes = strlen(name), at = bytes;

    if (bytes < 4 || name[bytes - 1] != ')')
        return bytes;
    for (at = bytes - 1; at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9';)
        at--;
    if (at == bytes - 1 || at < 2 || name[at - 1] != '(' || name[at - 2] != ' ')
        return bytes;
    return at - 2;
}

size_t clp_profile_plain_name(const struct clp_profile_function *function)
{
    return plain_name_bytes(function->name);
}

static uint64_t hash_plain_key(const struct clp_profile_function *function)
{
    uint64_t hash = clp_hash_text(1, function->file, strlen(function->file));

    hash = clp_hash_text(hash, function->name, plain_name_bytes(function->name));
    return clp_hash_text(hash, (const char *)&function->first_line, sizeof function->first_line);
}

static uint64_t hash_variant(const struct clp_profile_function *function)
{
    return clp_hash_text(hash_plain_key(function), function->source, function->source_bytes);
}

/* "NAME (2)", or the next number that nobody has. NULL: out of memory. */
static struct clp_profile_function *append_variant(struct clp_profile *into,
                                                   const struct clp_profile_function *from)
{
    size_t bytes = plain_name_bytes(from->name), room = bytes + sizeof " (18446744073709551615)";
    uint64_t key = hash_plain_key(from), number = 1, hash;
    char *name = clp_mem_alloc(into->mem, room, 1);
    struct clp_profile_function *function = NULL;

    if (name == NULL)
        return NULL;
    (void)clp_hashmap_get(&into->variants, key, &number);
    memcpy(name, from->name, bytes);
    do
        (void)snprintf(name + bytes, room - bytes, " (%llu)", (unsigned long long)++number);
    while (find_function(into, from->file, name, from->first_line, &hash) != NULL);
    if (clp_hashmap_set(&into->variants, key, number) == CLP_OK &&
        append_function(into, from->file, name, hash) == CLP_OK) {
        function = &into->functions[into->function_count - 1];
        function->first_line = from->first_line;
        function->source_changed = from->source_changed;
        if (into->variant_count++ == 0)
            into->variant_place = into->function_count - 1;
    }
    clp_mem_free(into->mem, name, room, 1);
    return function;
}

/* The function has the same key, another text: the one that has both, or a new one. */
static clp_status find_variant(struct clp_profile *into, const struct clp_profile_function *from,
                               struct clp_profile_function **function)
{
    uint64_t hash = hash_variant(from), place;
    uint64_t other = hash_variant(*function);

    if (clp_hashmap_set(&into->variants, other, (uint64_t)(*function - into->functions)) != CLP_OK)
        return CLP_NO_MEMORY;
    if (clp_hashmap_get(&into->variants, hash, &place) &&
        same_source(&into->functions[place], from)) {
        *function = &into->functions[place];
        return CLP_OK;
    }
    *function = append_variant(into, from);
    if (*function == NULL)
        return CLP_NO_MEMORY;
    return clp_hashmap_set(&into->variants, hash, into->function_count - 1);
}

static bool is_variant(const struct clp_profile_function *function)
{
    return function->source != NULL && function->name[plain_name_bytes(function->name)] != 0;
}

/* The function that `from` joins: of its key, or of its text where texts differ. One that an earlier
 * merge numbered is looked for by its text first, for there its number may have been another. */
static clp_status find_joined(struct clp_profile *into, const struct clp_profile_function *from,
                              struct clp_profile_function **function)
{
    size_t count = into->function_count;
    uint64_t place;

    if (is_variant(from) && clp_hashmap_get(&into->variants, hash_variant(from), &place) &&
        same_source(&into->functions[place], from)) {
        *function = &into->functions[place];
        return CLP_OK;
    }
    if (clp_profile_add_function(into, from->file, from->name, from->first_line, function) != CLP_OK)
        return CLP_NO_MEMORY;
    if (into->function_count != count)
        (*function)->source_changed = from->source_changed;
    if (!same_source(*function, from))
        return find_variant(into, from, function);
    if (!is_variant(from))
        return CLP_OK;
    return clp_hashmap_set(&into->variants, hash_variant(from),
                           (uint64_t)(*function - into->functions));
}

static clp_status merge_function(struct clp_profile *into, const struct clp_profile_function *from)
{
    struct clp_profile_function *function;

    if (find_joined(into, from, &function) != CLP_OK)
        return CLP_NO_MEMORY;
    if (merge_lines(into->mem, function, from) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < from->leak_count; i++)
        if (clp_profile_add_leak(into, function, &from->leaks[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    function->total = sum_uint64_t(function->total, from->total);
    function->raw_total = sum_uint64_t(function->raw_total, from->raw_total);
    if (function->compiler == NULL &&
        clp_profile_set_text(into, &function->compiler, from->compiler) != CLP_OK)
        return CLP_NO_MEMORY;
    if (function->source_bytes < from->source_bytes)
        return clp_profile_set_source(into, function, from->source, from->source_bytes);
    return CLP_OK;
}

clp_status clp_profile_add_process(struct clp_profile *profile,
                                   const struct clp_profile_process *process)
{
    struct clp_mem *mem = profile->mem;
    struct clp_profile_process copy = *process;
    clp_status status;

    RESERVE(status, mem, profile->processes, profile->process_room, profile->process_count);
    if (status != CLP_OK)
        return status;
    if (copy.name != NULL)
        copy.name = clp_mem_copy_text(mem, process->name, strlen(process->name));
    if (copy.numbers != NULL)
        copy.numbers = clp_mem_alloc(mem, process->numbers_bytes, 1);
    if ((copy.name == NULL) != (process->name == NULL) ||
        (copy.numbers == NULL) != (process->numbers == NULL)) {
        clear_process(mem, &copy);
        return CLP_NO_MEMORY;
    }
    if (copy.numbers != NULL)
        memcpy(copy.numbers, process->numbers, process->numbers_bytes);
    profile->processes[profile->process_count++] = copy;
    return CLP_OK;
}

uint64_t clp_profile_self(const struct clp_profile *profile)
{
    struct clp_measures sum = {0};

    for (size_t i = 0; i < profile->function_count; i++)
        for (size_t j = 0; j < profile->functions[i].line_count; j++)
            clp_measures_merge(&sum, &profile->functions[i].lines[j].measures);
    return sum.self;
}

static clp_status merge_series(struct clp_profile *into, const struct clp_profile_series *from)
{
    struct clp_profile_series *series;

    if (clp_profile_add_series(into, from->pid, from->start, &series) != CLP_OK)
        return CLP_NO_MEMORY;
    for (size_t i = 0; i < from->count; i++)
        if (clp_profile_add_sample(into, series, from->time[i], from->rss[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    for (size_t i = 0; i < from->mark_count; i++)
        if (clp_profile_add_mark(into, series, &from->marks[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    return CLP_OK;
}

static clp_status keep_text(struct clp_profile *into, char **text, const char *other)
{
    return *text != NULL ? CLP_OK : clp_profile_set_text(into, text, other);
}

/* Is the word one of those between commas? */
static bool has_word(const char *list, const char *word, size_t bytes)
{
    while (list != NULL && *list != 0) {
        size_t length = strcspn(list, ",");
        if (length == bytes && memcmp(list, word, bytes) == 0)
            return true;
        list += length;
        list += strspn(list, ", ");
    }
    return false;
}

/* Runs by several tracers: "probe, settrace". */
static clp_status merge_tracer(struct clp_profile *into, const char *other)
{
    struct clp_buf all;

    clp_buf_init(&all, into->mem);
    if (into->meta.tracer != NULL)
        clp_buf_add_text(&all, into->meta.tracer);
    while (other != NULL && *other != 0) {
        size_t bytes = strcspn(other, ",");
        if (!has_word(clp_buf_text(&all), other, bytes)) {
            clp_buf_add_text(&all, all.used != 0 ? ", " : "");
            clp_buf_add(&all, other, bytes);
        }
        other += bytes;
        other += strspn(other, ", ");
    }
    clp_status status = all.failed ? CLP_NO_MEMORY : CLP_OK;
    if (status == CLP_OK && all.used != 0)
        status = clp_profile_set_text(into, &into->meta.tracer, clp_buf_text(&all));
    clp_buf_clear(&all);
    return status;
}

/* The kind of memory that a profile's measures are of; NULL: it has none. */
static const char *memory_of(const struct clp_profile_meta *meta)
{
    if (!meta->has_memory)
        return NULL;
    return meta->memory != NULL ? meta->memory : "rss";
}

static clp_status merge_memory(struct clp_profile *into, const struct clp_profile_meta *from)
{
    const char *ours = memory_of(&into->meta), *theirs = memory_of(from);

    if (theirs == NULL || (ours != NULL && strcmp(ours, theirs) == 0))
        return CLP_OK;
    return clp_profile_set_text(into, &into->meta.memory, ours == NULL ? from->memory : "mixed");
}

static clp_status merge_epoch(struct clp_profile *into, const char *theirs)
{
    const char *ours = into->meta.leak_epoch;

    if (theirs == NULL || (ours != NULL && strcmp(ours, theirs) == 0))
        return CLP_OK;
    return clp_profile_set_text(into, &into->meta.leak_epoch, ours == NULL ? theirs : "mixed");
}

static clp_status merge_meta(struct clp_profile *into, const struct clp_profile_meta *from)
{
    struct clp_profile_meta *meta = &into->meta;

    meta->pid = meta->pid != 0 ? meta->pid : from->pid;
    meta->start = meta->start != 0 ? meta->start : from->start;
    meta->own_bytes = meta->own_bytes != 0 ? meta->own_bytes : from->own_bytes;
    meta->wall = sum_uint64_t(meta->wall, from->wall);
    meta->overhead = sum_uint64_t(meta->overhead, from->overhead);
    meta->overhead_error = sum_uint64_t(meta->overhead_error, from->overhead_error);
    meta->events = sum_uint64_t(meta->events, from->events);
    meta->reads = sum_uint64_t(meta->reads, from->reads);
    meta->others_grown = sum_uint64_t(meta->others_grown, from->others_grown);
    meta->others_released = sum_uint64_t(meta->others_released, from->others_released);
    if (merge_memory(into, from) != CLP_OK || merge_epoch(into, from->leak_epoch) != CLP_OK)
        return CLP_NO_MEMORY;
    meta->has_memory |= from->has_memory;
    meta->inexact_memory |= from->inexact_memory;
    meta->memory_step = max_uint64_t(meta->memory_step, from->memory_step);
    meta->heap_interval = max_uint64_t(meta->heap_interval, from->heap_interval);
    meta->heap_live = sum_uint64_t(meta->heap_live, from->heap_live);
    meta->heap_peak = sum_uint64_t(meta->heap_peak, from->heap_peak);
    meta->heap_unselected = sum_uint64_t(meta->heap_unselected, from->heap_unselected);
    meta->heap_unselected_peak = sum_uint64_t(meta->heap_unselected_peak, from->heap_unselected_peak);
    meta->heap_before = sum_uint64_t(meta->heap_before, from->heap_before);
    meta->heap_native = max_uint64_t(meta->heap_native, from->heap_native);
    meta->leak_epochs = max_uint64_t(meta->leak_epochs, from->leak_epochs);
    if (keep_text(into, &meta->python, from->python) != CLP_OK ||
        merge_tracer(into, from->tracer) != CLP_OK)
        return CLP_NO_MEMORY;
    return keep_text(into, &meta->command, from->command);
}

clp_status clp_profile_merge(struct clp_profile *into, const struct clp_profile *from)
{
    into->denied |= from->denied;
    for (size_t i = 0; i < from->function_count; i++) {
        if (merge_function(into, &from->functions[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    for (size_t i = 0; i < from->series_count; i++) {
        if (merge_series(into, &from->series[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    for (size_t i = 0; i < from->process_count; i++) {
        if (clp_profile_add_process(into, &from->processes[i]) != CLP_OK)
            return CLP_NO_MEMORY;
    }
    return merge_meta(into, &from->meta);
}
