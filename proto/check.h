/* SPDX-License-Identifier: MIT
 *
 * check.h - checks that bytes are one well-formed msgpack value of an acceptable size.
 *
 * The check reads every byte once and allocates nothing.  It rejects:
 *  - a length or count that exceeds the remaining bytes, and bytes after the value;
 *  - nesting deeper than LMI_WIRE_LIMIT_DEPTH, more than LMI_WIRE_LIMIT_MESSAGE_VALUES values;
 *  - maps with more than LMI_WIRE_LIMIT_MAP_KEYS keys, more than LMI_WIRE_LIMIT_MESSAGE_KEYS keys
 *    in all,
 *    keys that are not str of 1 to LMI_WIRE_LIMIT_KEY_BYTES bytes, duplicate keys;
 *  - str that is not UTF-8, extension types and the byte c1. */
#ifndef LLAMAD_PROTO_CHECK_H
#define LLAMAD_PROTO_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

/* Returns LMD_INVALID if the check fails; the error message names the offset of the byte. */
enum lmd_status lmi_wire_check(const void *bytes, size_t n, struct lmd_error *err);

#endif /* LLAMAD_PROTO_CHECK_H */
