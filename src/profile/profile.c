/* SPDX-License-Identifier: MIT */
/* profile->index maps the hash of a function's key to the function's index. Functions with equal hashes are stored
 * under hash, hash + 1, hash + 2 and so on; a search ends at the first number that is not in the map. Nothing is ever
 * removed from the map, so this chain has no holes. */
#include "profile.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char tensors[] = "--tensors, in a program that made tensors on so many devices";
static const char a_counter[] = "a counter of the program's own, made by clineprof.counter";

bool clp_profile_is_light(const struct clp_profile_meta *meta)
{
    return meta->tracer != NULL && strstr(meta->tracer, CLP_TRACER_LIGHT) != NULL;
}

const char *clp_profile_lacks(const struct clp_profile_meta *meta, enum clp_measure measure)
{
    switch (clp_measure_rows[measure].needs) {
    case CLP_NEEDS_MEMORY:
        return meta->has_memory ? NULL : "memory, which --no-memory leaves out";
    case CLP_NEEDS_ALLOCATED:
        if (meta->has_memory || (clp_profile_is_light(meta) && meta->heap_interval != 0))
            return NULL;
        return clp_profile_is_light(meta) ? "--heap or --leaks beside --light" : "memory, which --no-memory leaves out";
    case CLP_NEEDS_LIGHT:
        return clp_profile_is_light(meta) ? NULL : "--light";
    case CLP_NEEDS_CPU:
        return meta->has_cpu != 0 ? NULL : "--cpu";
    case CLP_NEEDS_QUEUE:
        return meta->has_queue != 0 ? NULL : "--cpu, where /proc/thread-self/schedstat can be read";
    case CLP_NEEDS_CALLED:
        return meta->has_called != 0 ? NULL : "--native";
    case CLP_NEEDS_IO:
        return meta->has_io != 0 ? NULL : "--io";
    case CLP_NEEDS_FAULTS:
        return meta->has_faults != 0 ? NULL : "--counters faults";
    case CLP_NEEDS_SWITCHES:
        return meta->has_switches != 0 ? NULL : "--counters switches";
    case CLP_NEEDS_COUNTER1:
        return meta->counter1 != NULL ? NULL : a_counter;
    case CLP_NEEDS_COUNTER2:
        return meta->counter2 != NULL ? NULL : a_counter;
    case CLP_NEEDS_COUNTER3:
        return meta->counter3 != NULL ? NULL : a_counter;
    case CLP_NEEDS_COUNTER4:
        return meta->counter4 != NULL ? NULL : a_counter;
    case CLP_NEEDS_DEVICE1:
        return meta->device1 != NULL ? NULL : tensors;
    case CLP_NEEDS_DEVICE2:
        return meta->device2 != NULL ? NULL : tensors;
    case CLP_NEEDS_DEVICE3:
        return meta->device3 != NULL ? NULL : tensors;
    case CLP_NEEDS_DEVICE4:
        return meta->device4 != NULL ? NULL : tensors;
    case CLP_NEEDS_DEVICE_TIME:
        return meta->has_device_time != 0 ? NULL : "--cuda";
    case CLP_NEEDS_HEAP:
        return meta->heap_interval != 0 ? NULL : "--heap or --leaks";
    case CLP_NEEDS_NATIVE:
        return meta->heap_native != 0 ? NULL : "--heap=native";
    default:
        return NULL;
    }
}

bool clp_profile_scale_time(double scale, uint64_t *value)
{
    if (scale == 1)
        return true;
    double scaled = (double)*value * scale + 0.5;
    if (!(scaled < 18446744073709551616.0)) /* 2 to the 64th; the comparison is false for a NaN too */
        return false;
    *value = (uint64_t)scaled;
    return true;
}

void clp_profile_init(struct clp_profile *profile, struct clp_mem *mem)
{
    *profile = (struct clp_profile){.mem = mem};
    clp_hashmap_init(&profile->index, mem);
    clp_hashmap_init(&profile->variants, mem);
    clp_hashmap_init(&profile->kept_texts, mem);
    clp_hashmap_init(&profile->call_index, mem);
    clp_buf_init(&profile->file, mem);
    clp_buf_init(&profile->left_out, mem);
}

void clp_profile_drop_source(struct clp_mem *mem, struct clp_profile_function *function)
{
    if (!function->source_borrowed)
        clp_mem_free(mem, function->source, function->source_bytes + 1, 1);
    function->source = NULL;
    function->source_bytes = 0;
    function->source_borrowed = false;
}

void clp_profile_drop_leaks(struct clp_mem *mem, struct clp_profile_function *function)
{
    while (function->leak_count != 0)
        clp_mem_free_text(mem, function->leaks[--function->leak_count].held_by);
}

void clp_profile_drop_callees(struct clp_mem *mem, struct clp_profile_function *function)
{
    while (function->callee_count != 0)
        clp_mem_free_text(mem, function->callees[--function->callee_count].name);
}

static void clear_function(struct clp_mem *mem, struct clp_profile_function *function)
{
    clp_mem_free_text(mem, function->file);
    clp_mem_free_text(mem, function->name);
    clp_mem_free_text(mem, function->compiler);
    clp_mem_free(mem, function->lines, function->line_room, sizeof *function->lines);
    clp_profile_drop_leaks(mem, function);
    clp_mem_free(mem, function->leaks, function->leak_room, sizeof *function->leaks);
    clp_profile_drop_callees(mem, function);
    clp_mem_free(mem, function->callees, function->callee_room, sizeof *function->callees);
    clp_mem_free(mem, function->missed, function->missed_room, sizeof *function->missed);
    clp_profile_drop_source(mem, function);
}

static void clear_texts(struct clp_profile *profile)
{
    struct clp_mem *mem = profile->mem;

    for (size_t i = 0; i < profile->text_count; i++) {
        clp_mem_free_text(mem, profile->texts[i].file);
        if (!profile->texts[i].borrowed)
            clp_mem_free(mem, profile->texts[i].text, profile->texts[i].bytes + 1, 1);
    }
    clp_mem_free(mem, profile->texts, profile->text_room, sizeof *profile->texts);
    clp_hashmap_clear(&profile->kept_texts);
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
    clp_mem_free_text(mem, process->host);
    clp_mem_free_text(mem, process->boot);
    clp_mem_free_text(mem, process->rank);
    clp_mem_free(mem, process->numbers, process->numbers_bytes, 1);
}

void clp_profile_drop_last_series(struct clp_profile *profile)
{
    clear_series(profile->mem, &profile->series[--profile->series_count]);
}

void clp_profile_drop_calls(struct clp_profile *profile)
{
    profile->call_count = 0;
    profile->calls_cut = 0;
    clp_hashmap_clear(&profile->call_index);
    clp_hashmap_init(&profile->call_index, profile->mem);
}

static void drop_line_log(struct clp_profile *profile, size_t place)
{
    struct clp_profile_line_log *log = &profile->line_logs[place];

    clp_mem_free(profile->mem, log->bytes, log->count, 1);
    memmove(log, log + 1, (--profile->line_log_count - place) * sizeof *log);
}

void clp_profile_drop_line_logs(struct clp_profile *profile)
{
    while (profile->line_log_count != 0)
        drop_line_log(profile, profile->line_log_count - 1);
}

void clp_profile_clear(struct clp_profile *profile)
{
    struct clp_mem *mem = profile->mem;

    for (size_t i = 0; i < profile->function_count; i++)
        clear_function(mem, &profile->functions[i]);
    clp_mem_free(mem, profile->functions, profile->function_room, sizeof *profile->functions);
    clear_texts(profile);
    clp_mem_free(mem, profile->calls, profile->call_room, sizeof *profile->calls);
    for (size_t i = 0; i < profile->series_count; i++)
        clear_series(mem, &profile->series[i]);
    clp_mem_free(mem, profile->series, profile->series_room, sizeof *profile->series);
    clp_profile_drop_line_logs(profile);
    clp_mem_free(mem, profile->line_logs, profile->line_log_room, sizeof *profile->line_logs);
    for (size_t i = 0; i < profile->process_count; i++)
        clear_process(mem, &profile->processes[i]);
    clp_mem_free(mem, profile->processes, profile->process_room, sizeof *profile->processes);
    clp_hashmap_clear(&profile->index);
    clp_hashmap_clear(&profile->variants);
    clp_hashmap_clear(&profile->call_index);
    clp_mem_free_text(mem, profile->meta.python);
    clp_mem_free_text(mem, profile->meta.tracer);
    clp_mem_free_text(mem, profile->meta.command);
    clp_mem_free_text(mem, profile->meta.memory);
    clp_mem_free_text(mem, profile->meta.leak_epoch);
    clp_mem_free_text(mem, profile->meta.leak_unjudged);
    clp_mem_free_text(mem, profile->meta.host);
    clp_mem_free_text(mem, profile->meta.boot);
    clp_mem_free_text(mem, profile->meta.rank);
    clp_mem_free_text(mem, profile->meta.counter1);
    clp_mem_free_text(mem, profile->meta.counter2);
    clp_mem_free_text(mem, profile->meta.counter3);
    clp_mem_free_text(mem, profile->meta.counter4);
    clp_mem_free_text(mem, profile->meta.device1);
    clp_mem_free_text(mem, profile->meta.device2);
    clp_mem_free_text(mem, profile->meta.device3);
    clp_mem_free_text(mem, profile->meta.device4);
    clp_buf_clear(&profile->file);
    clp_buf_clear(&profile->left_out);
    clp_profile_init(profile, mem);
}

static uint64_t hash_key(const char *file, const char *name, int32_t first_line)
{
    uint64_t hash = clp_hash_text(0, file, strlen(file));

    hash = clp_hash_text(hash, name, strlen(name));
    return clp_hash_text(hash, (const char *)&first_line, sizeof first_line);
}

/* Returns the function with this key, or NULL. With NULL, *hash is the free number under which the index stores it. */
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

uint64_t clp_profile_text_hash(const struct clp_profile_function *function)
{
    if (function->source == NULL || strcmp(function->name, "<module>") == 0)
        return function->text_hash;
    return clp_hash_text(0, function->source, function->source_bytes) | 1;
}

bool clp_profile_has_spread(const struct clp_profile_function *function)
{
    for (size_t i = 0; i < function->line_count; i++)
        if (function->lines[i].spread.count != 0)
            return true;
    return false;
}

void clp_profile_add_compiled(struct clp_buf *out, const struct clp_profile_function *function)
{
    const struct clp_compiled *known = &function->compiled;

    if (strcmp(function->compiler, CLP_CYTHON) == 0) {
        clp_buf_add_text(out, "its lines are seen when it is compiled with linetrace=True and the C macro "
                              "CYTHON_TRACE=1");
        return;
    }
    if (known->times == 1)
        clp_buf_add_format(out, "compiling took %.3f s; ", (double)known->nanos / 1e9);
    else if (known->times > 1)
        clp_buf_add_format(out, "%" PRIu64 " compilations took %.3f s; ", known->times, (double)known->nanos / 1e9);
    if (known->calls == 0)
        clp_buf_add_text(out, "calls of the compiled code are not counted");
    else
        clp_buf_add_format(out, "%" PRIu64 " call%s from Python to the compiled code %s not counted", known->calls,
                           known->calls == 1 ? "" : "s", known->calls == 1 ? "is" : "are");
}

bool clp_profile_has_function(struct clp_profile *profile, const char *file, const char *name,
                              int32_t first_line)
{
    uint64_t hash;

    return find_function(profile, file, name, first_line, &hash) != NULL;
}

/* Makes room for one more item behind `count` items. Doubles the room where it is full. The new room is not zeroed:
 * what nobody writes takes no memory. */
static clp_status reserve(struct clp_mem *mem, void **items, size_t *room, size_t count,
                          size_t bytes)
{
    size_t held = *room * bytes, wanted = *room == 0 ? 8 : *room * 2;

    if (count < *room)
        return CLP_OK;
    if (wanted > SIZE_MAX / bytes || clp_mem_resize(mem, items, &held, wanted * bytes) != CLP_OK)
        return CLP_NO_MEMORY;
    *room = wanted;
    return CLP_OK;
}

/* Makes room in a typed array, which clp_mem_resize must not see through another type. */
#define RESERVE(status, mem, items, room, count)                          \
    do {                                                                  \
        void *block = (items);                                            \
        (status) = reserve(mem, &block, &(room), count, sizeof *(items)); \
        (items) = block;                                                  \
    } while (0)

/* Appends the function and enters it in the index under `hash`, which must be free. */
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

/* Sets *numbered to "NAME" for version 1, to "NAME (2)" for version 2, and so on. */
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

/* Makes room for `extra` more lines. At least doubles the room where it is too small. */
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

/* Returns the index of the first line whose number is `line` or larger. */
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

/* Sets *to to a copy of the verdict. CLP_NO_MEMORY leaves it as it was. */
static clp_status copy_leak(struct clp_mem *mem, const struct clp_profile_leak *from, struct clp_profile_leak *to)
{
    const char *text = from->held_by;
    char *copy = text != NULL ? clp_mem_copy_text(mem, text, strlen(text)) : NULL;

    if (text != NULL && copy == NULL)
        return CLP_NO_MEMORY;
    *to = *from;
    to->held_by = copy;
    return CLP_OK;
}

size_t clp_profile_count_leaks(const struct clp_profile *profile)
{
    size_t count = 0;

    for (size_t i = 0; i < profile->function_count; i++)
        count += profile->functions[i].leak_count;
    return count;
}

clp_status clp_profile_add_leak(struct clp_profile *profile, struct clp_profile_function *function,
                                const struct clp_profile_leak *leak)
{
    size_t place = function->leak_count; /* searched from the end: verdicts mostly come in the order of lines */
    struct clp_profile_leak copy;
    clp_status status;

    while (place > 0 && function->leaks[place - 1].line >= leak->line)
        place--;
    if (place < function->leak_count && function->leaks[place].line == leak->line) {
        if (leak->bytes <= function->leaks[place].bytes)
            return CLP_OK;
        status = copy_leak(profile->mem, leak, &copy);
        if (status == CLP_OK) {
            clp_mem_free_text(profile->mem, function->leaks[place].held_by);
            function->leaks[place] = copy;
        }
        return status;
    }
    RESERVE(status, profile->mem, function->leaks, function->leak_room, function->leak_count);
    if (status == CLP_OK)
        status = copy_leak(profile->mem, leak, &copy);
    if (status != CLP_OK)
        return status;
    memmove(&function->leaks[place + 1], &function->leaks[place],
            (function->leak_count++ - place) * sizeof *leak);
    function->leaks[place] = copy;
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

/* Drops the oldest logs until this many bytes find room. */
static void make_room_for_log(struct clp_profile *profile, size_t bytes)
{
    for (size_t i = 0; i < profile->line_log_count; i++)
        bytes += profile->line_logs[i].count;
    while (bytes > CLP_PROFILE_LINE_LOG_BYTES && profile->line_log_count != 0) {
        bytes -= profile->line_logs[0].count;
        drop_line_log(profile, 0);
    }
}

clp_status clp_profile_add_line_log(struct clp_profile *profile, const char *bytes, size_t count)
{
    clp_status status;

    if (count == 0)
        return CLP_OK;
    make_room_for_log(profile, count);
    RESERVE(status, profile->mem, profile->line_logs, profile->line_log_room, profile->line_log_count);
    char *copy = status == CLP_OK ? clp_mem_alloc(profile->mem, count, 1) : NULL;
    if (copy == NULL)
        return CLP_NO_MEMORY;
    memcpy(copy, bytes, count);
    profile->line_logs[profile->line_log_count++] = (struct clp_profile_line_log){copy, count};
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

/* Sets *copy to a copy of the text, if there is one. */
static bool copy_text(struct clp_mem *mem, const char *text, char **copy)
{
    *copy = text != NULL ? clp_mem_copy_text(mem, text, strlen(text)) : NULL;
    return (*copy == NULL) == (text == NULL);
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
    copy.numbers = process->numbers != NULL ? clp_mem_alloc(mem, process->numbers_bytes, 1) : NULL;
    bool good = copy_text(mem, process->name, &copy.name);
    good &= copy_text(mem, process->host, &copy.host);
    good &= copy_text(mem, process->boot, &copy.boot);
    good &= copy_text(mem, process->rank, &copy.rank);
    if (!good || (copy.numbers == NULL) != (process->numbers == NULL)) {
        clear_process(mem, &copy);
        return CLP_NO_MEMORY;
    }
    if (copy.numbers != NULL)
        memcpy(copy.numbers, process->numbers, process->numbers_bytes);
    profile->processes[profile->process_count++] = copy;
    return CLP_OK;
}

clp_status clp_profile_set_identity(struct clp_profile *profile, const struct clp_identity *who)
{
    struct clp_profile_meta *meta = &profile->meta;

    meta->pid = who->pid;
    meta->pid_namespace = who->pid_namespace;
    meta->restart = who->restart;
    if (clp_profile_set_text(profile, &meta->host, who->host[0] != 0 ? who->host : NULL) != CLP_OK ||
        clp_profile_set_text(profile, &meta->boot, who->boot[0] != 0 ? who->boot : NULL) != CLP_OK)
        return CLP_NO_MEMORY;
    return clp_profile_set_text(profile, &meta->rank, who->rank[0] != 0 ? who->rank : NULL);
}

uint64_t clp_profile_self(const struct clp_profile *profile)
{
    struct clp_measures sum = {0};

    for (size_t i = 0; i < profile->function_count; i++)
        for (size_t j = 0; j < profile->functions[i].line_count; j++)
            clp_measures_merge(&sum, &profile->functions[i].lines[j].measures);
    return sum.self;
}

size_t clp_profile_plain_name(const struct clp_profile_function *function)
{
    const char *name = function->name;
    size_t bytes = strlen(name), at = bytes;

    if (bytes < 4 || name[bytes - 1] != ')')
        return bytes;
    for (at = bytes - 1; at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9';)
        at--;
    if (at == bytes - 1 || at < 2 || name[at - 1] != '(' || name[at - 2] != ' ')
        return bytes;
    return at - 2;
}
