/* SPDX-License-Identifier: MIT
 *
 * What the writers of completions share. */
#include "core/cli/completion.h"

#include <string.h>

const char *lmi_completion_opt_kind(const struct lmi_completion *c, const struct lmi_cmd *cmd,
				    const struct lmi_opt *o, char buf[LMI_COMPLETION_KIND_SIZE])
{
	const char *kind;

	if (o->type == LMI_OPT_CHOICE) {
		(void)snprintf(buf, LMI_COMPLETION_KIND_SIZE, "=%s", o->value);
		return buf;
	}
	kind = o->type == LMI_OPT_STR || o->type == LMI_OPT_LIST ? c->kind(cmd, o, o->value, 0)
								 : NULL;
	return kind ? kind : "none";
}

const char *lmi_completion_arg_kind(const struct lmi_completion *c, const struct lmi_cmd *cmd,
				    uint32_t i, bool *repeated)
{
	const char *w = cmd->args ? cmd->args : "", *kind;
	char word[64];
	size_t n;

	for (uint32_t k = 0; k < i && *w; k++) {
		w += strcspn(w, " ");
		w += strspn(w, " ");
	}
	n = strcspn(w, " ");
	if (!n || n >= sizeof(word))
		return NULL;
	*repeated = n > 3 && !memcmp(w + n - 3, "...", 3);
	if (*repeated)
		n -= 3;
	if (*w == '[') { /* "[NAME]" */
		w++;
		n -= 2;
	}
	(void)snprintf(word, sizeof(word), "%.*s", (int)n, w);
	kind = c->kind(cmd, NULL, word, i);
	return kind ? kind : "none";
}

const char *lmi_completion_brief(const char *doc, char *buf, size_t size)
{
	size_t n = 0;

	while (doc[n] && n + 1 < size && !(doc[n] == '.' && (doc[n + 1] == ' ' || !doc[n + 1])))
		n++;
	(void)snprintf(buf, size, "%.*s", (int)n, doc);
	return buf;
}

size_t lmi_completion_first_word(const struct lmi_program *prog, uint32_t i)
{
	const char *name = prog->cmds[i]->name;
	size_t n = strcspn(name, " ");

	if (!name[n])
		return 0;
	for (uint32_t k = 0; k < i; k++)
		if (!strncmp(prog->cmds[k]->name, name, n) && prog->cmds[k]->name[n] == ' ')
			return 0;
	return n;
}
