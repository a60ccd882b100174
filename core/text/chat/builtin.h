/* SPDX-License-Identifier: MIT
 *
 * builtin.h - chat templates by name, for models that bring none, or a wrong one. */
#ifndef LLAMAD_CORE_TEXT_CHAT_BUILTIN_H
#define LLAMAD_CORE_TEXT_CHAT_BUILTIN_H

#include "llamad/types.h"

/* The folder builtin/ has a file for each; build-aux/embed-text makes the table of them. */
struct lmi_chat_builtin {
	const char *name; /* with ".jinja" behind it */
	const char *text;
};

/* Ascending by name. */
extern const struct lmi_chat_builtin lmi_chat_builtins[];
extern const unsigned lmi_chat_builtins_n;

/* NULL: there is none of that name. */
const struct lmi_chat_builtin *lmi_chat_builtin_find(struct lmd_str name);

#endif /* LLAMAD_CORE_TEXT_CHAT_BUILTIN_H */
