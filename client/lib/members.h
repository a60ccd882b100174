/* SPDX-License-Identifier: MIT
 *
 * members.h - members of a request that a program gives as a JSON object. */
#ifndef LLAMAD_CLIENT_LIB_MEMBERS_H
#define LLAMAD_CLIENT_LIB_MEMBERS_H

#include "proto/proto.h"

/* Appends a request: its op, a new rid if the op needs one and `json` has none, its fields unless
 * `only`, and the members of the JSON object `json` (NULL: none), which replace fields of the same
 * name.  A string of 32 hexadecimal digits under the name "id" becomes an id.  LMD_INVALID: not a
 * JSON object. */
enum lmd_status lmi_client_members_encode(struct lmi_wire_buf *out, struct lmi_wire_request *req,
					  const char *json, bool only, struct lmd_error *err);

#endif /* LLAMAD_CLIENT_LIB_MEMBERS_H */
