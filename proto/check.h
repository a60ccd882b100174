/* SPDX-License-Identifier: MIT
 *
 * check.h - is this one well-formed msgpack value, of a size that we are willing to look at?
 *
 * The walk looks at every byte once and reserves nothing.  It refuses:
 *  - a length or count that the bytes left cannot hold, and bytes behind the value;
 *  - nesting beyond LMI_LIMIT_DEPTH, more than LMI_LIMIT_MESSAGE_VALUES values;
 *  - maps with more than LMI_LIMIT_MAP_KEYS keys, more than LMI_LIMIT_MESSAGE_KEYS keys in all,
 *    keys that are not str of 1 to LMI_LIMIT_KEY_BYTES bytes, a key that is there twice;
 *  - str that is not UTF-8, extension types and the byte c1. */
#ifndef LLAMAD_PROTO_CHECK_H
#define LLAMAD_PROTO_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

/* LMD_INVALID: the sentence names the offset of the byte. */
enum lmd_status lmi_wire_check(const void *bytes, size_t n, struct lmd_error *err);

#endif /* LLAMAD_PROTO_CHECK_H */
