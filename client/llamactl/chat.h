/* SPDX-License-Identifier: MIT
 *
 * chat.h - a conversation with a model: reads a message at a time and prints the answer. */
#ifndef LLAMAD_LLAMACTL_CHAT_H
#define LLAMAD_LLAMACTL_CHAT_H

#include "client/llamactl/generation.h"

/* Converses until the end of standard input. first: the first message; NULL: it is read. */
enum lmd_status lmi_ctl_chat(struct lmi_ctl_generation *g, const char *first,
			     struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_CHAT_H */
