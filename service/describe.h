/* SPDX-License-Identifier: MIT
 *
 * describe.h - the description of a model file for the reply to `info`. */
#ifndef LLAMAD_SERVICE_DESCRIBE_H
#define LLAMAD_SERVICE_DESCRIBE_H

#include "core/base/arena.h"
#include "llamad/model.h"
#include "proto/proto.h"

/* Fills in sizes, tensor types and the chat template; with `keys` also the metadata, with long
 * values cut.  Everything is copied into the arena, so the file may be closed afterwards.  The only
 * error is LMD_NOMEM.  Any thread. */
enum lmd_status lmi_svc_describe(struct lmd_arena *arena, const struct lmd_model *m, bool keys,
				 struct lmi_wire_rep_info *out);

/* Returns what the chat template supports as a sum of 1 << enum lmi_chat_cap: that of the configuration
 * (as in op generate), or the model's own if `template` is empty; 0 if there is none, or if it is
 * malformed.  The only error is LMD_NOMEM.  Any thread; slow. */
enum lmd_status lmi_svc_template_caps(uint32_t *caps, const struct lmd_model *m,
				      struct lmd_str template);
/* Fills in their names.  The only error is LMD_NOMEM.  Any thread. */
enum lmd_status lmi_svc_describe_template_caps(struct lmd_arena *arena, uint32_t caps,
					       struct lmi_wire_rep_info *out);

#endif /* LLAMAD_SERVICE_DESCRIBE_H */
