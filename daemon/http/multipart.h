/* SPDX-License-Identifier: MIT
 *
 * multipart.h - bodies of the type multipart/form-data: the fields of a form, and files. */
#ifndef LLAMAD_DAEMON_HTTP_MULTIPART_H
#define LLAMAD_DAEMON_HTTP_MULTIPART_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

#define LMI_HTTP_PARTS_MAX 16

struct lmi_http_part {
	struct lmd_str name;
	struct lmd_str filename; /* ptr NULL: the part is not a file */
	struct lmd_str content;
};

/* Splits a body; the parts point into it.  type: the header Content-Type, which names the boundary.
 * Returns LMD_INVALID if it is not such a body, or has more than LMI_HTTP_PARTS_MAX parts.  Pure. */
enum lmd_status lmi_http_multipart(struct lmi_http_part parts[LMI_HTTP_PARTS_MAX], uint32_t *n,
				   const char *type, struct lmd_str body, struct lmd_error *err);
/* Returns the part of that name, or NULL. */
const struct lmi_http_part *lmi_http_part_find(const struct lmi_http_part *parts, uint32_t n,
					       const char *name);

#endif /* LLAMAD_DAEMON_HTTP_MULTIPART_H */
