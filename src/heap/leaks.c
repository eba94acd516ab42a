/* SPDX-License-Identifier: MIT */
#include "leaks.h"
#include <stdlib.h>

#define LEAST_SHARE 0.8
#define LEAST_CONFIDENCE 0.95
#define FEW_BLOCKS 18
#define LEAST_LIMIT ((int64_t)1 << 20)
#define LEAST_WARMUPS 3
#define SAMPLES_TO_EPOCH 8

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

static bool grew_often(const int64_t *live, size_t epochs)
{
    size_t grew = 0;

    for (size_t i = 0; i < epochs; i++)
        grew += live[i + 1] > live[i];
    return (double)grew >= LEAST_SHARE * (double)epochs;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* The median of the slopes between any two points. */
static double slope_of(const int64_t *live, size_t epochs)
{
    double slopes[CLP_LEAKS_MOST_EPOCHS * (CLP_LEAKS_MOST_EPOCHS + 1) / 2];
    size_t count = 0;

    for (size_t i = 0; i < epochs; i++)
        for (size_t j = i + 1; j <= epochs; j++)
            slopes[count++] = (double)(live[j] - live[i]) / (double)(j - i);
    qsort(slopes, count, sizeof *slopes, compare);
    return (slopes[count / 2] + slopes[(count - 1) / 2]) / 2;
}

/* The weights say which part of the old blocks is alive, their number how sure that is. */
static double confidence_of(const struct clp_leaks_line *line)
{
    double all = (double)line->old_alive + (double)line->old_dead;
    double n = (double)line->old_blocks, s = all > 0 ? n * (double)line->old_alive / all : 0;

    return (s + 1) / (n + 2);
}

struct past {
    int64_t live[CLP_LEAKS_MOST_EPOCHS + 1];
    size_t epochs, warmups;
};

/* Two epochs become one; of an odd number the first is left out. */
static void join(struct past *past)
{
    size_t odd = past->epochs % 2;

    past->epochs /= 2;
    past->warmups = (past->warmups + 1) / 2;
    for (size_t i = 0; i <= past->epochs; i++)
        past->live[i] = past->live[2 * i + odd];
}

static bool is_thin(const struct past *past, int64_t sample)
{
    double samples = (double)(past->live[past->epochs] - past->live[0]) / (double)sample;

    return samples < (double)(past->epochs * SAMPLES_TO_EPOCH);
}

/* Copies the line's epochs to *past and joins them where samples are few. Returns how many became one. */
static size_t look_back(const struct clp_leaks_line *line, size_t warmups, struct past *past)
{
    size_t joined = 1;

    past->epochs = line->epochs;
    past->warmups = warmups;
    for (size_t i = 0; i <= line->epochs; i++)
        past->live[i] = line->live[i];
    while (line->sample > 1 && is_thin(past, line->sample) &&
           past->epochs / 2 >= (past->warmups + 1) / 2 + CLP_LEAKS_LEAST_EPOCHS) {
        join(past);
        joined *= 2;
    }
    return joined;
}

static bool survives(const struct clp_leaks_line *line)
{
    if (line->old_blocks < FEW_BLOCKS)
        return line->old_alive != 0 && line->old_dead == 0;
    return confidence_of(line) >= LEAST_CONFIDENCE;
}

bool clp_leaks_judge(const struct clp_leaks_line *line, const struct clp_leaks_rule *rule,
                     struct clp_leaks_verdict *verdict)
{
    if (line->epochs > CLP_LEAKS_MOST_EPOCHS ||
        line->epochs < rule->warmups + CLP_LEAKS_LEAST_EPOCHS)
        return false;
    struct past past;
    size_t joined = look_back(line, rule->warmups, &past);
    const int64_t *live = past.live + past.warmups;
    size_t epochs = past.epochs - past.warmups;
    int64_t growth = live[epochs] - live[0];

    if (growth <= rule->limit || !grew_often(live, epochs) || !survives(line))
        return false;
    double slope = slope_of(live, epochs);
    if (slope <= 0)
        return false;
    *verdict = (struct clp_leaks_verdict){growth, slope / (double)joined, confidence_of(line)};
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

static size_t count_steps(const int64_t *room, size_t first, size_t epochs)
{
    size_t count = 0;

    for (size_t i = first; i < epochs; i++)
        count += room[i + 1] > room[i];
    return count;
}

bool clp_leaks_judge_thing(const struct clp_leaks_thing *thing, const struct clp_leaks_rule *rule,
                           struct clp_leaks_verdict *verdict)
{
    int64_t content[CLP_LEAKS_MOST_EPOCHS + 1];
    size_t epochs = thing->epochs, warm = rule->warmups;

    if (epochs > CLP_LEAKS_MOST_EPOCHS || epochs <= warm ||
        2 * fill_content(thing->stretched, epochs, content) <= epochs)
        return false;
    size_t steps = count_steps(thing->stretched, warm, epochs);
    if (steps < 2 && epochs >= 5 * warm)
        return false;
    int64_t gained = thing->stretched[epochs] - thing->stretched[warm];
    int64_t lost = thing->lost[epochs] - thing->lost[warm];
    const struct clp_leaks_line line = {
        .live = content,
        .epochs = epochs,
        .sample = 1,
        .old_alive = gained > lost ? (uint64_t)(gained - lost) : 0,
        .old_dead = lost > 0 ? (uint64_t)lost : 0,
        .old_blocks = steps,
    };
    return clp_leaks_judge(&line, rule, verdict);
}
