/* SPDX-License-Identifier: MIT */
/* The one place that says which clineprof this is; the Makefile and setup.py read it from here. */
#ifndef CLP_VERSION_H
#define CLP_VERSION_H

#define CLP_VERSION "0.1.0"

#endif
