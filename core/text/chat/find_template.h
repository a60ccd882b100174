/* SPDX-License-Identifier: MIT
 *
 * find_template.h - finds the template text that a conversation uses. */
#ifndef LLAMAD_CORE_TEXT_CHAT_FIND_TEMPLATE_H
#define LLAMAD_CORE_TEXT_CHAT_FIND_TEMPLATE_H

#include <stdbool.h>

#include "llamad/model.h"
#include "llamad/status.h"

/* Finds the template for `requested`: a text that contains "{" is itself a template; a name is that
 * of a variant of the model's template or, failing that, of a built-in one; ptr NULL or empty means
 * the model's own template.  The model may be NULL.  The result is valid as long as the model and
 * `requested`.  LMD_NOTFOUND names the template that does not exist. */
enum lmd_status lmi_chat_find_template(struct lmd_str *out, const struct lmd_model *model,
				       struct lmd_str requested, struct lmd_error *err);

#endif /* LLAMAD_CORE_TEXT_CHAT_FIND_TEMPLATE_H */
