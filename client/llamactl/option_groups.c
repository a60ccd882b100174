/* SPDX-License-Identifier: MIT */
#include "client/llamactl/option_groups.h"

#include <string.h>

#include "client/llamactl/answer_opts.h"
#include "client/llamactl/embedded.h"
#include "llamad/attr.h"

static const struct lmi_opt answer[] = {LMI_CTL_OPTS_ANSWER};
static const struct lmi_opt engine[] = {LMI_CTL_OPTS_ENGINE};

const struct lmi_ctl_option_group lmi_ctl_option_groups[] = {
	{"Answer options", answer, LMD_LEN(answer)},
	{"Engine options", engine, LMD_LEN(engine)},
	{NULL, NULL, 0},
};

static const struct lmi_opt *find(const struct lmi_opt *o, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (o[i].name && !strcmp(o[i].name, name))
			return &o[i];
	return NULL;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

bool lmi_ctl_has_option_group(const struct lmi_cli_cmd *c, const struct lmi_ctl_option_group *g)
{
	for (uint32_t i = 0; i < g->n_opts; i++)
		if (!find(c->opts, c->n_opts, g->opts[i].name))
			return false;
	return true;
}

const struct lmi_ctl_option_group *lmi_ctl_option_group_of(const struct lmi_cli_cmd *c, const struct lmi_opt *o)
{
	for (const struct lmi_ctl_option_group *g = lmi_ctl_option_groups; o->name && g->title; g++) {
		const struct lmi_opt *x = find(g->opts, g->n_opts, o->name);

		if (x && x->letter == o->letter && same(x->value, o->value) && same(x->def, o->def) &&
		    same(x->def_text, o->def_text) && same(x->doc, o->doc) && lmi_ctl_has_option_group(c, g))
			return g;
	}
	return NULL;
}
