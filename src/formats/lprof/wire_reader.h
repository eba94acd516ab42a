/* SPDX-License-Identifier: MIT */
/* Reads a .lprof file (wire.h) in three steps. Each may rely on those before it.
 *
 *   check    every byte, allocating nothing: is it one msgpack item that ends where the file ends, not nested
 *            too deeply, and does no header promise more than the file can hold?
 *   split    the top map into its values, as spans of bytes
 *   convert  one function (one source, the meta) at a time: msgpack-c unpacks its span into a zone that is
 *            emptied before the next one, so reading takes little more memory than the profile
 *
 * What check and split find to be wrong ends reading. So does a wrong frame: format, version, unit, and that functions
 * are a list. Any other part that is wrong is left out, and told in profile->left_out: a function lacks this part, a
 * list lacks the item.
 *
 * msgpack-c allocates as much as the lengths in a file say. After the check these lengths are true. */
#ifndef CLP_WIRE_READER_H
#define CLP_WIRE_READER_H

#include "base/buf.h"
#include "profile/profile.h"
#include "base/status.h"
#include <stddef.h>

/* Reads a file into an initialised, empty profile. All bytes are checked once, without allocating, before
 * msgpack-c sees them: types, depth, lengths against the bytes left, and a limit on the number of items. CLP_OK means
 * that there is a profile, and profile->left_out_count what it lacks. On failure the profile is empty again, and *fault says where and why. */
clp_status clp_wire_decode(const char *bytes, size_t count, struct clp_profile *profile,
                           struct clp_fault *fault);

/* Reads a file as clp_wire_decode does, but leaves lines and sources in the file's bytes. So it needs little
 * more memory than the file, for a caller that looks at lines one after the other. On success the profile takes
 * over the bytes, and *bytes is empty. Such a profile has no `lines`: struct clp_wire_rows (wire_rows.h) reads
 * them. It cannot be merged or written. */
clp_status clp_wire_decode_in_place(struct clp_buf *bytes, struct clp_profile *profile,
                                    struct clp_fault *fault);

/* Do the bytes, as far as there are any, begin as every .lprof file begins? */
bool clp_wire_is(const char *bytes, size_t count);

#endif
