/* SPDX-License-Identifier: MIT
 *
 * members.h - messages from the members of a JSON object. */
#ifndef LLAMAD_CLIENT_LIB_MEMBERS_H
#define LLAMAD_CLIENT_LIB_MEMBERS_H

#include "proto/proto.h"

/* Appends a request of op: v, op, a new rid where the op wants one and the members bring none,
 * and the members of the JSON object `json` (NULL: none).  A string of 32 hexadecimal digits
 * under the name "id" becomes an id.  LMD_INVALID: not a JSON object. */
enum lmd_status lmi_members_request(struct lmi_wire_buf *out, enum lmi_wire_op op,
				    const char *json, struct lmd_error *err);

/* Appends the message in p with the members of a JSON object in the place of its own of the same
 * names, or beside them. */
enum lmd_status lmi_members_over(struct lmi_wire_buf *out, const void *p, size_t n,
				 const char *json, struct lmd_error *err);

#endif /* LLAMAD_CLIENT_LIB_MEMBERS_H */
