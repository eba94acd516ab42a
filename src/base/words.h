/* SPDX-License-Identifier: MIT */
/* Words that a user has typed, and the words that were to choose from. A list of words reads "a, b or c" or "a,b,c". */
#ifndef CLP_WORDS_H
#define CLP_WORDS_H

#include "buf.h"

/* The distance of two words: how many letters must be changed, inserted, removed or exchanged with the next letter to
 * turn one into the other. SIZE_MAX when the words are too different to be confused. */
size_t clp_words_slips(const char *text, size_t bytes, const char *word, size_t word_bytes);

/* Is the word in the list? */
bool clp_words_have(const char *list, const char *word, size_t bytes);

/* Sets *near to the word in the list that is most similar, and returns its size. Returns 0 when none is similar. */
size_t clp_words_nearest(const char *list, const char *word, size_t bytes, const char **near);

/* Says that the word is not in the list: "does not take 'tme' (did you mean time?)"; or, when no word in the list is
 * similar, "needs LIST, not 'x'" with `before` before the list. */
void clp_words_refuse(struct clp_buf *fault, const char *before, const char *list, const char *word, size_t bytes);

#endif
