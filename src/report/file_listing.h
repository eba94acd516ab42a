/* SPDX-License-Identifier: MIT */
/* Whole files: the lines of all chosen functions of a file in one listing, with the text of the file as far as the
 * profile has it.
 *
 * A line of several functions (a `lambda` and the line that makes it) has the sum of their measures. What such a line
 * calls on itself is in the time of the caller's line already, so it is taken off the sum: that is known where the
 * profile has calls.
 *
 * Functions of one file may have been compiled from different texts, when the file was edited and loaded again. Those
 * that do not agree with the listing so far come in another listing of the same file. */
#ifndef CLP_FILE_LISTING_H
#define CLP_FILE_LISTING_H

#include "choice.h"
#include "base/hashmap.h"

struct clp_file_row {
    int32_t line;
    uint32_t functions; /* with measures on this line */
    bool missed;        /* holds code that never ran */
    bool running;
    struct clp_span text; /* without its end; text.text is NULL where it is not known */
    struct clp_measures measures;
};

struct clp_file_listing {
    const char *file;          /* borrowed from the profile */
    struct clp_file_row *rows; /* owned; ascending by line; every line of which anything is known */
    size_t count, room;
    size_t functions;          /* how many functions it is made of */
    unsigned version;          /* 1; more for functions that were compiled from other texts of the file */
};

/* Goes through the files of a choice. */
struct clp_file_listings {
    const struct clp_profile *profile; /* borrowed */
    struct clp_mem *mem;               /* borrowed */
    size_t *places;   /* owned; the chosen functions, those of a file next to each other */
    size_t count;
    size_t next, end; /* places[next..end) are functions of the present file that are in no listing yet */
    struct clp_hashmap by_line; /* line -> its place in listing.rows plus 1 */
    struct clp_file_listing listing;
};

/* Starts. Files come in the order of their first functions in the choice; if `order` is a measure, by what their chosen
 * functions have of it, ascending. Afterwards call clp_file_listings_clear, unless the result is CLP_NO_MEMORY. */
clp_status clp_file_listings_start(struct clp_file_listings *listings, const struct clp_profile *profile,
                                   const struct clp_choice *choice, enum clp_choice_order order,
                                   struct clp_mem *mem);
void clp_file_listings_clear(struct clp_file_listings *listings);

/* Makes the next listing in listings->listing, which stays valid until the next call. *more is false, and there is no
 * listing, after the last one. */
clp_status clp_file_listings_next(struct clp_file_listings *listings, bool *more);

#endif
