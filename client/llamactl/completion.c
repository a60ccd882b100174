/* SPDX-License-Identifier: MIT
 *
 * Completion for bash, written from the table.  It completes the words of commands, the
 * options of the command that was typed, the words of choices, and file names elsewhere. */
#include <string.h>

#include "client/llamactl/texts.h"

static void put_options(FILE *f, const struct lmi_opt *o, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!o[i].doc)
			continue;
		if (o[i].letter)
			fprintf(f, " -%c", o[i].letter);
		if (o[i].name)
			fprintf(f, " --%s", o[i].name);
	}
}

/* "--log) words="error warn"" for options of type CHOICE; the others with a value say
 * that a file name may follow. */
static void put_values(FILE *f, const char *pattern, const struct lmi_opt *o, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		char name[64];

		if (!o[i].doc || o[i].type == LMI_OPT_FLAG)
			continue;
		if (o[i].name)
			snprintf(name, sizeof(name), "--%s", o[i].name);
		else
			snprintf(name, sizeof(name), "-%c", o[i].letter);
		fprintf(f, "\t\"%s:%s\"", pattern, name);
		if (o[i].name && o[i].letter)
			fprintf(f, "|\"%s:-%c\"", pattern, o[i].letter);
		fputs(") value=1 words=\"", f);
		if (o[i].type == LMI_OPT_CHOICE)
			for (const char *p = o[i].value; *p; p++)
				putc(*p == '|' ? ' ' : *p, f);
		fputs("\" ;;\n", f);
	}
}

/* The first word of each command, or the second words of one. */
static void put_words(FILE *f, const char *group)
{
	size_t n_group = group ? strlen(group) : 0;
	const char *last = "";
	size_t n_last = 0;

	for (uint32_t i = 0; i < lmi_llamactl.n_cmds; i++) {
		const char *w = lmi_llamactl.cmds[i]->name;
		size_t n;

		if (group) {
			if (strncmp(w, group, n_group) || w[n_group] != ' ')
				continue;
			w += n_group + 1;
		}
		n = strcspn(w, " ");
		if (n == n_last && !memcmp(w, last, n))
			continue;
		fprintf(f, " %.*s", (int)n, w);
		last = w;
		n_last = n;
	}
}

void lmi_write_completion(FILE *f)
{
	fputs("# SPDX-License-Identifier: MIT\n"
	      "# Completion of llamactl for bash, written by 'llamactl --emit-completion'.\n"
	      "_llamactl()\n{\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	      "\tlocal first= cmd= words= value= w i\n"
	      "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	      "\t\tw=${COMP_WORDS[i]}\n"
	      "\t\t[[ $w == -* ]] && continue\n"
	      "\t\tif [[ -z $first ]]; then first=$w cmd=$w; continue; fi\n"
	      "\t\tcase \"$first $w\" in\n",
	      f);
	for (uint32_t i = 0; i < lmi_llamactl.n_cmds; i++)
		if (strchr(lmi_llamactl.cmds[i]->name, ' '))
			fprintf(f, "\t\t\"%s\") cmd=\"%s\" ;;\n", lmi_llamactl.cmds[i]->name,
				lmi_llamactl.cmds[i]->name);
	fputs("\t\tesac\n\t\tbreak\n\tdone\n\tcase \"$cmd:$prev\" in\n", f);
	for (uint32_t i = 0; i < lmi_llamactl.n_cmds; i++)
		put_values(f, lmi_llamactl.cmds[i]->name, lmi_llamactl.cmds[i]->opts,
			   lmi_llamactl.cmds[i]->n_opts);
	fputs("\tesac\n\tcase \"$prev\" in\n", f);
	for (uint32_t i = 0; i < lmi_llamactl.n_opts; i++) {
		const struct lmi_opt *o = &lmi_llamactl.opts[i];

		if (!o->doc || o->type == LMI_OPT_FLAG || !o->name)
			continue;
		fprintf(f, "\t--%s) value=1 words=\"", o->name);
		if (o->type == LMI_OPT_CHOICE)
			for (const char *p = o->value; *p; p++)
				putc(*p == '|' ? ' ' : *p, f);
		fputs("\" ;;\n", f);
	}
	fputs("\tesac\n\tif [[ -z $value ]]; then\n\t\tcase \"$cmd\" in\n\t\t\"\") words=\"", f);
	put_words(f, NULL);
	put_options(f, lmi_llamactl.opts, lmi_llamactl.n_opts);
	fputs("\" ;;\n", f);
	for (uint32_t i = 0; i < lmi_llamactl.n_cmds; i++) {
		const struct lmi_cmd *c = lmi_llamactl.cmds[i];

		fprintf(f, "\t\t\"%s\") words=\"", c->name);
		if (!strchr(c->name, ' '))
			put_words(f, c->name);
		put_options(f, c->opts, c->n_opts);
		put_options(f, lmi_llamactl.opts, lmi_llamactl.n_opts);
		fputs("\" ;;\n", f);
	}
	for (uint32_t i = 0; i < lmi_llamactl.n_cmds; i++) {
		const char *gap = strchr(lmi_llamactl.cmds[i]->name, ' ');
		size_t n = gap ? (size_t)(gap - lmi_llamactl.cmds[i]->name) : 0;
		char group[32];

		snprintf(group, sizeof(group), "%.*s", (int)n, lmi_llamactl.cmds[i]->name);
		if (!n || lmi_cmd_find(&lmi_llamactl, group) ||
		    (i && !strncmp(lmi_llamactl.cmds[i - 1]->name, group, n) &&
		     lmi_llamactl.cmds[i - 1]->name[n] == ' '))
			continue;
		fprintf(f, "\t\t\"%s\") words=\"", group);
		put_words(f, group);
		fputs("\" ;;\n", f);
	}
	fputs("\t\tesac\n\tfi\n"
	      "\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	      "\t[[ ${#COMPREPLY[@]} -eq 0 && $cur != -* ]] && COMPREPLY=($(compgen -f -- "
	      "\"$cur\"))\n"
	      "}\ncomplete -o filenames -F _llamactl llamactl\n",
	      f);
}
