/* SPDX-License-Identifier: MIT */
#include "words.h"
#include <string.h>

/* A longer word is similar to none. */
#define MOST_BYTES 48

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The optimal string alignment distance. The second word is shorter than MOST_BYTES. */
static size_t distance(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
    size_t rows[3][MOST_BYTES] = {{0}};

    for (size_t j = 0; j <= b_bytes; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a_bytes; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            row[j] = smaller(above[j - 1] + (a[i - 1] != b[j - 1]), smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], two_above[j - 2] + 1);
        }
    }
    return rows[a_bytes % 3][b_bytes];
}

/* Up to two slips count as similar, and one when a word has five letters or fewer: two slips make any word of three
 * letters similar to any other. */
size_t clp_words_slips(const char *text, size_t bytes, const char *word, size_t word_bytes)
{
    size_t most = smaller(bytes, word_bytes) > 5 ? 2 : 1;

    if (word_bytes >= MOST_BYTES || smaller(bytes, word_bytes) < 2)
        return SIZE_MAX;
    size_t slips = distance(text, bytes, word, word_bytes);
    return slips <= most ? slips : SIZE_MAX;
}

/* Moves *at to the next word of a list, and returns the word's size; 0 behind the last. `bytes` is the size of the word
 * at *at, 0 before the first word. */
static size_t next_word(const char **at, size_t bytes)
{
    do {
        *at += bytes;
        *at += strspn(*at, ", ");
        bytes = strcspn(*at, ", ");
    } while (bytes == 2 && strncmp(*at, "or", bytes) == 0);
    return bytes;
}

bool clp_words_have(const char *list, const char *word, size_t bytes)
{
    const char *at = list;

    for (size_t size = next_word(&at, 0); size != 0; size = next_word(&at, size))
        if (size == bytes && memcmp(at, word, bytes) == 0)
            return true;
    return false;
}

size_t clp_words_nearest(const char *list, const char *word, size_t bytes, const char **near)
{
    size_t least = SIZE_MAX, found = 0;
    const char *at = list;

    for (size_t size = next_word(&at, 0); size != 0; size = next_word(&at, size)) {
        size_t slips = clp_words_slips(word, bytes, at, size);
        if (slips < least) {
            least = slips;
            found = size;
            *near = at;
        }
    }
    return found;
}

void clp_words_refuse(struct clp_buf *fault, const char *before, const char *list, const char *word, size_t bytes)
{
    const char *near;
    size_t near_bytes = clp_words_nearest(list, word, bytes, &near);

    if (near_bytes != 0)
        clp_buf_add_format(fault, "does not take '%.*s' (did you mean %.*s?)", (int)bytes, word, (int)near_bytes, near);
    else
        clp_buf_add_format(fault, "needs %s%s, not '%.*s'", before, list, (int)bytes, word);
}
