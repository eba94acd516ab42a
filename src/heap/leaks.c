/* SPDX-License-Identifier: MIT */
#include "leaks.h"
#include <math.h>

#define SECTIONS 10
#define SAMPLES_TO_SECTION 8
#define LEAST_SHARE 0.8      /* of the sections must raise the floor */
#define LEAST_RISE 0.25      /* of an even rise is needed in a section */
#define LEAST_LATE (1 / 3.0) /* of an even rise is needed in the last third */
#define LEAST_KEPT 0.95      /* of what a thing gained */
#define FEW_STEPS 18
#define MARGIN 1.96 /* standard errors: 95 % */
#define LEAST_LIMIT ((int64_t)1 << 20)
#define LEAST_WARMUPS 3

size_t clp_leaks_warmups(size_t epochs)
{
    return epochs / 10 > LEAST_WARMUPS ? epochs / 10 : LEAST_WARMUPS;
}

size_t clp_leaks_needed(size_t epochs)
{
    return clp_leaks_warmups(epochs) + CLP_LEAKS_LEAST_EPOCHS;
}

int64_t clp_leaks_limit(int64_t peak_bytes)
{
    return peak_bytes / 100 > LEAST_LIMIT ? peak_bytes / 100 : LEAST_LIMIT;
}

/* Sets each number of the floor to the least that is alive then or later. */
static void find_floor(const int64_t *live, size_t epochs, int64_t *floor)
{
    floor[epochs] = live[epochs];
    for (size_t i = epochs; i-- > 0;)
        floor[i] = live[i] < floor[i + 1] ? live[i] : floor[i + 1];
}

static size_t count_rises(const int64_t *numbers, size_t epochs)
{
    size_t rises = 0;

    for (size_t i = 0; i < epochs; i++)
        rises += numbers[i + 1] > numbers[i];
    return rises;
}

/* In how many sections the floor is looked at. In each there should be some samples, or it says nothing. Of n samples
 * the standard error is one part in the root of n. */
static size_t sections_of(const struct clp_leaks_line *line, size_t epochs, int64_t growth)
{
    size_t sections = epochs < SECTIONS ? epochs : SECTIONS;
    double share = line->error > 0 ? (double)growth / line->error : HUGE_VAL, samples = share * share;

    while (sections > CLP_LEAKS_LEAST_EPOCHS && samples < (double)(SAMPLES_TO_SECTION * sections))
        sections--;
    return sections;
}

/* Does the floor rise in most sections, and not by chance? */
static bool rises_often(const int64_t *floor, size_t epochs, size_t sections)
{
    double even = (double)(floor[epochs] - floor[0]) / (double)sections;
    size_t rises = 0;

    for (size_t i = 0; i < sections; i++) {
        int64_t rise = floor[(i + 1) * epochs / sections] - floor[i * epochs / sections];
        rises += (double)rise >= LEAST_RISE * even;
    }
    return (double)rises >= LEAST_SHARE * (double)sections;
}

/* Does the floor still rise in the last third of the epochs? */
static bool goes_on(const int64_t *floor, size_t epochs)
{
    size_t last = (epochs + 2) / 3;
    double even = (double)(floor[epochs] - floor[0]) * (double)last / (double)epochs;

    return (double)(floor[epochs] - floor[epochs - last]) >= LEAST_LATE * even;
}

/* Not by qsort(), which asks for memory: with --heap=native that would wait for the table's lock, which is held here. */
static void sort(double *numbers, size_t count)
{
    for (size_t gap = count / 2; gap > 0; gap /= 2)
        for (size_t i = gap; i < count; i++) {
            double number = numbers[i];
            size_t at = i;

            for (; at >= gap && numbers[at - gap] > number; at -= gap)
                numbers[at] = numbers[at - gap];
            numbers[at] = number;
        }
}

/* The median of the slopes between any two points. */
static double slope_of(const int64_t *live, size_t epochs)
{
    double slopes[CLP_LEAKS_MOST_EPOCHS * (CLP_LEAKS_MOST_EPOCHS + 1) / 2];
    size_t count = 0;

    for (size_t i = 0; i < epochs; i++)
        for (size_t j = i + 1; j <= epochs; j++)
            slopes[count++] = (double)(live[j] - live[i]) / (double)(j - i);
    sort(slopes, count);
    return (slopes[count / 2] + slopes[(count - 1) / 2]) / 2;
}

/* The chance that a normal variable is below `deviations` standard deviations. */
static double normal(double deviations)
{
    return erfc(-deviations / sqrt(2)) / 2;
}

static double confidence_of(const struct clp_leaks_line *line, const int64_t *floor, size_t epochs, int64_t limit)
{
    int64_t growth = floor[epochs] - floor[0];
    double again = ((double)count_rises(floor, epochs) + 1) / ((double)epochs + 2);
    double above = line->error > 0 ? normal((double)(growth - limit) / line->error) : 1;

    return again < above ? again : above;
}

bool clp_leaks_judge(const struct clp_leaks_line *line, const struct clp_leaks_rule *rule,
                     struct clp_leaks_verdict *verdict)
{
    if (line->epochs > CLP_LEAKS_MOST_EPOCHS ||
        line->epochs < rule->warmups + CLP_LEAKS_LEAST_EPOCHS)
        return false;
    const int64_t *live = line->live + rule->warmups;
    size_t epochs = line->epochs - rule->warmups;
    int64_t floor[CLP_LEAKS_MOST_EPOCHS + 1];

    find_floor(live, epochs, floor);
    int64_t growth = floor[epochs] - floor[0];
    int64_t margin = (int64_t)(MARGIN * line->error);
    if (growth <= rule->limit || !rises_often(floor, epochs, sections_of(line, epochs, growth)) ||
        !goes_on(floor, epochs))
        return false;
    *verdict = (struct clp_leaks_verdict){
        .growth = growth,
        .margin = margin,
        .slope = slope_of(live, epochs),
        .confidence = confidence_of(line, floor, epochs, rule->limit),
    };
    return true;
}

/* ---- a thing that grows ---- */

/* The content of epochs `from` to `to` grows evenly, up to `room`. */
static void spread(int64_t *content, size_t from, size_t to, double per_epoch, int64_t room)
{
    for (size_t i = from + 1; i <= to; i++) {
        double reached = (double)content[from] + per_epoch * (double)(i - from);
        content[i] = reached < (double)room ? (int64_t)reached : room;
    }
}

/* Fills in the content at the end of each epoch. Returns the last epoch in which there was a step. */
static size_t fill_content(const int64_t *room, size_t epochs, int64_t *content)
{
    double per_epoch = 0;
    size_t last = 0;

    content[0] = room[0];
    for (size_t i = 1; i <= epochs; i++) {
        if (room[i] == room[i - 1])
            continue;
        per_epoch = (double)(room[i - 1] - content[last]) / (double)(i - last);
        spread(content, last, i, per_epoch, room[i - 1]);
        last = i;
    }
    spread(content, last, epochs, per_epoch, room[epochs]);
    return last;
}

/* Is nearly all there that the thing gained? Of few steps all must be. */
static bool is_kept(int64_t gained, int64_t lost, size_t steps)
{
    double share = gained > lost ? (double)(gained - lost) / ((double)gained) : 0;

    if (lost <= 0)
        return true;
    return steps >= FEW_STEPS && share > 0 && (share * (double)steps + 1) / ((double)steps + 2) >= LEAST_KEPT;
}

bool clp_leaks_judge_thing(const struct clp_leaks_thing *thing, const struct clp_leaks_rule *rule,
                           struct clp_leaks_verdict *verdict)
{
    int64_t content[CLP_LEAKS_MOST_EPOCHS + 1];
    size_t epochs = thing->epochs, warm = rule->warmups;

    if (epochs > CLP_LEAKS_MOST_EPOCHS || epochs <= warm ||
        2 * fill_content(thing->stretched, epochs, content) <= epochs)
        return false;
    size_t steps = count_rises(thing->stretched + warm, epochs - warm);
    if (steps < 2 && epochs >= 5 * warm)
        return false;
    const struct clp_leaks_line line = {.live = content, .epochs = epochs};
    return is_kept(thing->stretched[epochs] - thing->stretched[warm], thing->lost[epochs] - thing->lost[warm], steps) &&
           clp_leaks_judge(&line, rule, verdict);
}
