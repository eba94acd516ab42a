/* SPDX-License-Identifier: MIT */
/* The command `clineprof diff`: compares two profiles, or two sides of several profiles each, and checks limits on the
 * changes. */
#ifndef CLP_DIFF_H
#define CLP_DIFF_H

#include "base/buf.h"
#include "base/mem.h"
#include "cli/option_table.h"
#include "diff_result.h"

enum { CLP_DIFF_PASSED = 0, CLP_DIFF_FAILED = 1, CLP_DIFF_USAGE = 2, CLP_DIFF_BROKEN = 3 };

/* The command's options; their fields are those of struct clp_diff_request. */
struct clp_option_table clp_diff_options_table(void);
struct clp_diff_request clp_diff_defaults(void);

/* Reads the limits, and checks what the table cannot. False with one line in `error`. */
bool clp_diff_check(struct clp_diff_request *request, struct clp_buf *error);

/* Appends the report for people. `marked`: with marks for a terminal (report/table.h). */
void clp_diff_add_text(const struct clp_diff *diff, bool marked, struct clp_buf *out);

/* Compares the files of a request, and writes the report. Returns the exit code. */
int clp_diff_compare(const struct clp_diff_request *request, struct clp_mem *mem);

/* Runs the command; argv[1] is "diff". Returns the exit code, one of the above. */
int clp_diff_main(int argc, char **argv, struct clp_mem *mem);

#endif
