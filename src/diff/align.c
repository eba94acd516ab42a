/* SPDX-License-Identifier: MIT */
#include "align.h"
#include "base/hashmap.h"

#define DEEPEST 16        /* stretches within stretches; a deeper stretch looks for no anchors */
#define TABLE_CELLS 65536 /* the largest table of a longest common subsequence, in cells */
#define WINDOW 64         /* items of `b` that align_long compares with one item of `a` */

struct job {
    struct clp_align *align;
    const uint64_t *a, *b;
    size_t *to;
    uint16_t *table; /* the longest common subsequences of the current stretch; see fill_table */
};

/* The items a .. a_end - 1 of one sequence and b .. b_end - 1 of the other. */
struct stretch {
    size_t a, a_end, b, b_end;
};

/* How often an item stands in a stretch, and the place where it stands first in `a` and last in `b`. */
struct seen {
    size_t a_count, b_count, a, b;
};

static void trim(struct job *job, struct stretch *s)
{
    size_t before = s->a_end - s->a;

    while (s->a < s->a_end && s->b < s->b_end && job->a[s->a] == job->b[s->b])
        job->to[s->a++] = s->b++;
    while (s->a < s->a_end && s->b < s->b_end && job->a[s->a_end - 1] == job->b[s->b_end - 1])
        job->to[--s->a_end] = --s->b_end;
    job->align->steps += before - (s->a_end - s->a) + 1;
}

/* ---- stretches without anchors ---- */

/* Sets row i, column j of the table to the length of the longest common subsequence of the items from a[i] on and the
 * items from b[j] on. */
static void fill_table(struct job *job, const struct stretch *s, size_t width)
{
    uint16_t *table = job->table; /* the last row and the last column stay zero */

    for (size_t i = s->a_end - s->a; i-- > 0;) {
        uint16_t *row = table + i * width, *below = row + width;
        for (size_t j = width - 1; j-- > 0;) {
            if (job->a[s->a + i] == job->b[s->b + j])
                row[j] = (uint16_t)(below[j + 1] + 1);
            else
                row[j] = below[j] >= row[j + 1] ? below[j] : row[j + 1];
        }
    }
}

static void follow_table(struct job *job, const struct stretch *s, size_t width)
{
    size_t i = 0, j = 0, a_count = s->a_end - s->a;

    while (i < a_count && j + 1 < width) {
        const uint16_t *row = job->table + i * width;
        if (job->a[s->a + i] == job->b[s->b + j]) {
            job->to[s->a + i] = s->b + j;
            i++, j++;
        } else if (row[width + j] >= row[j + 1]) {
            i++;
        } else {
            j++;
        }
    }
}

static clp_status align_short(struct job *job, const struct stretch *s)
{
    size_t height = s->a_end - s->a + 1, width = s->b_end - s->b + 1;

    job->table = clp_mem_alloc(job->align->mem, height * width, sizeof *job->table);
    if (job->table == NULL)
        return CLP_NO_MEMORY;
    fill_table(job, s, width);
    follow_table(job, s, width);
    job->align->steps += height * width;
    clp_mem_free(job->align->mem, job->table, height * width, sizeof *job->table);
    return CLP_OK;
}

static void align_long(struct job *job, const struct stretch *s)
{
    size_t cursor = s->b;

    for (size_t i = s->a; i < s->a_end; i++) {
        size_t end = s->b_end - cursor < WINDOW ? s->b_end : cursor + WINDOW, j = cursor;
        while (j < end && job->a[i] != job->b[j])
            j++;
        job->align->steps += j - cursor + 1;
        if (j == end)
            continue;
        job->to[i] = j;
        cursor = j + 1;
    }
}

static bool is_short(const struct stretch *s)
{
    size_t a_count = s->a_end - s->a + 1, b_count = s->b_end - s->b + 1;

    return a_count <= TABLE_CELLS / b_count;
}

/* ---- anchors ---- */

struct anchors {
    struct seen *seen; /* each different item of `a` in the stretch, in the order in which it first stands there */
    size_t seen_count, room;
    size_t *a, *b;     /* places of the anchors, in the order of `a` */
    size_t *tail;      /* tail[n]: the last anchor of the best ascending run of n + 1 anchors */
    size_t *previous;  /* for each anchor the anchor before it in its run */
    size_t count;
};

static clp_status take_room(struct clp_mem *mem, struct anchors *anchors, size_t room)
{
    anchors->room = room;
    anchors->seen = clp_mem_alloc(mem, room, sizeof *anchors->seen);
    anchors->a = clp_mem_alloc(mem, room * 4, sizeof *anchors->a);
    if (anchors->seen == NULL || anchors->a == NULL)
        return CLP_NO_MEMORY;
    anchors->b = anchors->a + room;
    anchors->tail = anchors->b + room;
    anchors->previous = anchors->tail + room;
    return CLP_OK;
}

static void give_room(struct clp_mem *mem, struct anchors *anchors)
{
    clp_mem_free(mem, anchors->seen, anchors->room, sizeof *anchors->seen);
    clp_mem_free(mem, anchors->a, anchors->room * 4, sizeof *anchors->a);
}

/* Counts the items of `a`, and how often `b` has each of them. Items that only `b` has are not counted. */
static clp_status count_items(struct job *job, const struct stretch *s, struct anchors *anchors)
{
    struct clp_hashmap map;
    clp_status status = CLP_OK;
    uint64_t place;

    clp_hashmap_init(&map, job->align->mem);
    for (size_t i = s->a; i < s->a_end && status == CLP_OK; i++) {
        if (!clp_hashmap_get(&map, job->a[i], &place)) {
            place = anchors->seen_count++;
            anchors->seen[place].a = i;
            status = clp_hashmap_set(&map, job->a[i], place);
        }
        anchors->seen[place].a_count++;
    }
    for (size_t j = s->b; j < s->b_end && status == CLP_OK; j++) {
        if (!clp_hashmap_get(&map, job->b[j], &place))
            continue;
        anchors->seen[place].b = j;
        anchors->seen[place].b_count++;
    }
    clp_hashmap_clear(&map);
    job->align->steps += s->a_end - s->a + s->b_end - s->b;
    return status;
}

static void choose_unique(struct anchors *anchors)
{
    for (size_t i = 0; i < anchors->seen_count; i++) {
        if (anchors->seen[i].a_count != 1 || anchors->seen[i].b_count != 1)
            continue;
        anchors->a[anchors->count] = anchors->seen[i].a;
        anchors->b[anchors->count++] = anchors->seen[i].b;
    }
}

/* Returns the index of the first tail that does not stand before place `b`: the run that an anchor at `b` ends. */
static size_t find_length(const struct anchors *anchors, size_t longest, size_t b)
{
    size_t low = 0, high = longest;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (anchors->b[anchors->tail[middle]] < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Keeps only the longest run of anchors whose places in `b` ascend too. */
static void keep_ascending(struct anchors *anchors)
{
    size_t longest = 0;

    for (size_t i = 0; i < anchors->count; i++) {
        size_t length = find_length(anchors, longest, anchors->b[i]);
        anchors->previous[i] = length > 0 ? anchors->tail[length - 1] : CLP_ALIGN_NONE;
        anchors->tail[length] = i;
        if (length == longest)
            longest++;
    }
    size_t at = longest > 0 ? anchors->tail[longest - 1] : CLP_ALIGN_NONE;
    for (size_t i = longest; i-- > 0; at = anchors->previous[at])
        anchors->tail[i] = at;
    for (size_t i = 0; i < longest; i++) { /* tail[i] >= i, so no anchor is overwritten before it is used */
        anchors->a[i] = anchors->a[anchors->tail[i]];
        anchors->b[i] = anchors->b[anchors->tail[i]];
    }
    anchors->count = longest;
}

/* ---- the whole ---- */

static clp_status align_stretch(struct job *job, struct stretch s, int depth);

static clp_status align_between(struct job *job, struct stretch s, const struct anchors *anchors,
                                int depth)
{
    clp_status status = CLP_OK;

    for (size_t i = 0; i < anchors->count && status == CLP_OK; i++) {
        job->to[anchors->a[i]] = anchors->b[i];
        status = align_stretch(
            job, (struct stretch){s.a, anchors->a[i], s.b, anchors->b[i]}, depth + 1);
        s.a = anchors->a[i] + 1;
        s.b = anchors->b[i] + 1;
    }
    return status != CLP_OK ? status : align_stretch(job, s, depth + 1);
}

static clp_status align_stretch(struct job *job, struct stretch s, int depth)
{
    struct anchors anchors = {0};
    struct clp_mem *mem = job->align->mem;
    clp_status status = CLP_NO_MEMORY;

    trim(job, &s);
    if (s.a == s.a_end || s.b == s.b_end)
        return CLP_OK;
    if (depth < DEEPEST) {
        if (take_room(mem, &anchors, s.a_end - s.a) != CLP_OK ||
            count_items(job, &s, &anchors) != CLP_OK)
            goto out;
        choose_unique(&anchors);
        keep_ascending(&anchors);
    }
    if (anchors.count != 0) {
        status = align_between(job, s, &anchors, depth);
    } else if (is_short(&s)) {
        status = align_short(job, &s);
    } else {
        align_long(job, &s);
        status = CLP_OK;
    }
out:
    give_room(mem, &anchors);
    return status;
}

clp_status clp_align_items(struct clp_align *align, const uint64_t *a, size_t a_count,
                           const uint64_t *b, size_t b_count, size_t *to)
{
    struct job job = {.align = align, .a = a, .b = b, .to = to};

    for (size_t i = 0; i < a_count; i++)
        to[i] = CLP_ALIGN_NONE;
    return align_stretch(&job, (struct stretch){0, a_count, 0, b_count}, 0);
}
