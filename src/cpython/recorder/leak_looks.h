/* SPDX-License-Identifier: MIT */
/* Looks for leaks while the program runs. A look makes the verdicts of what was seen so far, searches for the holders,
 * and writes both into the live file. So they are there after a kill, and a holder that the program frees on its way
 * out is known (heap/heap.h, the end of the program).
 *
 * Looks have a budget, a fiftieth of the time that passes. Beyond it they only come after twice the progress, and search
 * for no holders. One at the end of the program is made in any case. Protected as recorder_state.h says. */
#ifndef CLP_LEAK_LOOKS_H
#define CLP_LEAK_LOOKS_H

#include "recorder_state.h"

/* Looks, if the budget allows it or the program ends. It is called between two events, and its time is taken off. */
void clp_leak_looks_look(struct clp_recorder *recorder, bool ends);

/* The program's last line has run, and what it frees from now on says nothing of leaks. Nothing happens without a search
 * for leaks. */
void clp_leak_looks_end(struct clp_recorder *recorder);

#endif
