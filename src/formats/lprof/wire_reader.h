/* SPDX-License-Identifier: MIT */
/* Reading a .lprof file (wire.h) goes in three steps, each of which may rely on the one before:
 *
 *   walk     over every byte, allocating nothing: is it one msgpack item that ends where the file
 *            ends, not too deep, and does no header promise more than the file can hold?
 *   split    the top map into its values, as spans of bytes
 *   convert  one function (one source, the meta) at a time: msgpack-c unpacks its span into a zone
 *            that is emptied before the next, so a file costs little more than its profile
 *
 * msgpack-c allocates from the lengths a file declares; after the walk these are honest. */
#ifndef CLP_WIRE_READER_H
#define CLP_WIRE_READER_H

#include "base/buf.h"
#include "profile/profile.h"
#include "base/status.h"
#include <stddef.h>

/* Reads bytes into an initialised, empty profile. The bytes are walked once without allocating
 * (types, depth, declared lengths against the bytes left, a cap on the sum of elements) before
 * msgpack-c sees them. On failure the profile is empty again and *fault says where and why. */
clp_status clp_wire_decode(const char *bytes, size_t count, struct clp_profile *profile,
                           struct clp_fault *fault);

/* Reads as clp_wire_decode, but lines and sources stay in the file's bytes, which the profile takes over on
 * success: for who looks at lines one after the other and has no use for more memory than the file's. Such a
 * profile is as any other but for `lines`: struct clp_wire_rows (wire_rows.h) reads them. It cannot be merged or
 * written. */
clp_status clp_wire_decode_in_place(struct clp_buf *bytes, struct clp_profile *profile,
                                    struct clp_fault *fault);

/* Do the bytes, as far as they reach, begin as every writer of ours begins? */
bool clp_wire_is(const char *bytes, size_t count);

#endif
