/* SPDX-License-Identifier: MIT
 *
 * describe.h - what a model file says, as the reply to `info` tells it. */
#ifndef LLAMAD_SERVICE_DESCRIBE_H
#define LLAMAD_SERVICE_DESCRIBE_H

#include "core/base/arena.h"
#include "llamad/model.h"
#include "proto/proto.h"

/* Sizes, tensor types, chat template; with `keys` also the metadata, long values cut.  Everything
 * is copied into the arena, so the file may be closed.  LMD_NOMEM alone.  Any thread. */
enum lmd_status lmi_describe(struct lmd_arena *arena, const struct lmd_model *m, bool keys,
			     struct lmi_rep_info *out);

#endif /* LLAMAD_SERVICE_DESCRIBE_H */
