/* SPDX-License-Identifier: MIT
 *
 * key_args.h - model file keys given as options: KEY=TYPE:VALUE. */
#ifndef LLAMAD_LLAMACTL_KEY_ARGS_H
#define LLAMAD_LLAMACTL_KEY_ARGS_H

#include "client/llamactl/ctl.h"
#include "llamad/model.h"

/* Parses the values of a list option into keys for lmi_gguf_put_meta: int becomes u32 if it fits,
 * otherwise i32, i64 or u64; float becomes f32; bool; str. A key given twice is a usage error.
 * Release with fini, also after a failure. */
enum lmd_status lmi_key_args(struct lmi_ctl *ctl, const char *option, struct lmd_meta **out,
			     uint32_t *n, struct lmd_error *err);
void lmi_key_args_fini(struct lmd_meta *keys, uint32_t n);

#endif /* LLAMAD_LLAMACTL_KEY_ARGS_H */
