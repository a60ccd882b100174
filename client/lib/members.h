/* SPDX-License-Identifier: MIT
 *
 * members.h - converts a JSON object to a message. */
#ifndef LLAMAD_CLIENT_LIB_MEMBERS_H
#define LLAMAD_CLIENT_LIB_MEMBERS_H

#include "proto/proto.h"

/* Appends a request: v, op, a new rid if the op needs one and `json` has none, and the members of
 * the JSON object `json` (NULL: none).  A string of 32 hexadecimal digits under the name "id"
 * becomes an id.  LMD_INVALID: not a JSON object. */
enum lmd_status lmi_client_members_request(struct lmi_wire_buf *out, enum lmi_wire_op op,
					   const char *json, struct lmd_error *err);

/* Appends the message in p with the members of a JSON object added; those with the same name
 * replace its own. */
enum lmd_status lmi_client_members_override(struct lmi_wire_buf *out, const void *p, size_t n,
					    const char *json, struct lmd_error *err);

#endif /* LLAMAD_CLIENT_LIB_MEMBERS_H */
