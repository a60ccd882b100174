/* SPDX-License-Identifier: MIT
 *
 * builtin_templates.h - built-in chat templates, by name, for models that have none or a wrong one. */
#ifndef LLAMAD_CORE_TEXT_CHAT_BUILTIN_TEMPLATES_H
#define LLAMAD_CORE_TEXT_CHAT_BUILTIN_TEMPLATES_H

#include "llamad/types.h"

/* One file of the folder builtin/. build-aux/embed-text generates the table. */
struct lmi_chat_builtin_template {
	const char *name; /* ends in ".jinja" */
	const char *text;
};

/* Sorted by name, ascending. */
extern const struct lmi_chat_builtin_template lmi_chat_builtins[];
extern const unsigned lmi_chat_builtins_n;

/* Returns NULL if there is no template of that name. */
const struct lmi_chat_builtin_template *lmi_chat_builtin_find(struct lmd_str name);

#endif /* LLAMAD_CORE_TEXT_CHAT_BUILTIN_TEMPLATES_H */
