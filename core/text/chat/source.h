/* SPDX-License-Identifier: MIT
 *
 * source.h - which template a conversation goes through. */
#ifndef LLAMAD_CORE_TEXT_CHAT_SOURCE_H
#define LLAMAD_CORE_TEXT_CHAT_SOURCE_H

#include <stdbool.h>

#include "llamad/model.h"
#include "llamad/status.h"

/* The text that `asked` means (ptr NULL: nothing in particular), in this order: a text with a
 * "{" in it is a template; a name is that of a variant of the model's, or of a built-in one;
 * nothing is the model's own template.  model NULL: there is none.  The text lives as long as
 * the model and `asked`.  LMD_NOTFOUND names what was asked for. */
enum lmd_status lmi_chat_source(struct lmd_str *out, const struct lmd_model *model,
				struct lmd_str asked, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_SOURCE_H */
