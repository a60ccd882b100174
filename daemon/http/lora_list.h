/* SPDX-License-Identifier: MIT
 *
 * lora_list.h - adapters as llama.cpp's clients choose them: a list of {id, scale} with the numbers of
 * /lora-adapters; those that are missing have the scale 0. */
#ifndef LLAMAD_DAEMON_HTTP_LORA_LIST_H
#define LLAMAD_DAEMON_HTTP_LORA_LIST_H

#include "daemon/http/json_body.h"

/* Returns the list as op generate has it: "ID:SCALE,...", in the arena. */
struct lmd_str lmi_http_read_lora(struct lmi_http_reader *r, const struct lmi_http_at *at,
				  const json_t *v);

#endif /* LLAMAD_DAEMON_HTTP_LORA_LIST_H */
