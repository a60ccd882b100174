/* SPDX-License-Identifier: MIT
 *
 * Completion for fish: a line for each option and argument, on the condition that its command
 * stands on the line. */
#include <string.h>

#include "core/cli/completion.h"

#define BRIEF 100

static void put_quoted(FILE *f, const char *s)
{
	putc('\'', f);
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			putc('\\', f);
		putc(*s, f);
	}
	putc('\'', f);
}

/* What of the words of a kind is given to -a, and -F where files may stand as well. */
static void put_kind(FILE *f, const struct lmi_completion *c, const char *kind, bool after_option)
{
	bool files = strstr(kind, "file") || !strcmp(kind, "none");

	if (*kind == '=') {
		fputs(" -x -a '", f);
		for (kind++; *kind; kind++)
			putc(*kind == '|' ? ' ' : *kind, f);
		putc('\'', f);
		return;
	}
	if (!strcmp(kind, "dir")) {
		fputs(after_option ? " -x" : " -f", f);
		fputs(" -a '(__fish_complete_directories)'", f);
		return;
	}
	if (files && strcmp(kind, "none"))
		fputs(after_option ? " -r -F" : " -F", f);
	else
		fputs(after_option ? " -x" : " -f", f);
	if (strcmp(kind, "none") && strcmp(kind, "file"))
		fprintf(f, " -a '(__%s_words %.*s)'", c->prog->name, (int)strcspn(kind, " "), kind);
}

static void put_option(FILE *f, const struct lmi_completion *c, const struct lmi_cmd *cmd,
		       const struct lmi_opt *o)
{
	char brief[BRIEF], buf[LMI_COMPLETION_KIND_SIZE];

	if (!o->doc)
		return;
	fprintf(f, "complete -c %s", c->prog->name);
	if (cmd)
		fprintf(f, " -n '__%s_at \"%s\"'", c->prog->name, cmd->name);
	if (o->name)
		fprintf(f, " -l %s", o->name);
	if (o->letter)
		fprintf(f, " -s %c", o->letter);
	if (o->type != LMI_OPT_FLAG)
		put_kind(f, c, lmi_completion_opt_kind(c, cmd, o, buf), true);
	fputs(" -d ", f);
	put_quoted(f, lmi_completion_brief(o->doc, brief, sizeof(brief)));
	putc('\n', f);
}

static void put_command(FILE *f, const struct lmi_completion *c, const struct lmi_cmd *cmd)
{
	bool repeated = false;
	const char *kind;

	for (uint32_t i = 0;
	     !repeated && (kind = lmi_completion_arg_kind(c, cmd, i, &repeated)); i++) {
		if (!strcmp(kind, "none"))
			continue;
		fprintf(f, "complete -c %s -n '__%s_at \"%s\"%s", c->prog->name, c->prog->name,
			cmd->name, repeated ? "" : " ");
		if (repeated)
			fputs("'", f);
		else
			fprintf(f, "%u'", i);
		put_kind(f, c, kind, false);
		putc('\n', f);
	}
	for (uint32_t i = 0; i < cmd->n_opts; i++)
		put_option(f, c, cmd, &cmd->opts[i]);
}

/* complete -a WORD -d BRIEF, where the command begins */
static void put_words(FILE *f, const struct lmi_completion *c)
{
	const struct lmi_program *p = c->prog;

	for (uint32_t i = 0; i < p->n_cmds; i++) {
		const char *w = p->cmds[i]->name, *second = strchr(w, ' ');
		size_t n = lmi_completion_first_word(p, i);
		char first[64];

		(void)snprintf(first, sizeof(first), "%.*s", (int)strcspn(w, " "), w);
		if (n && !lmi_cmd_find(p, first))
			fprintf(f, "complete -c %s -n '__%s_at \"\" 0' -a %s -d '%s ...'\n",
				p->name, p->name, first, first);
		fprintf(f, "complete -c %s -n '__%s_at \"%s\" 0' -a %s -d ", p->name, p->name,
			second ? first : "", second ? second + 1 : w);
		put_quoted(f, p->cmds[i]->brief);
		putc('\n', f);
	}
}

/* A list of "COMMAND --option" for the walk over the words. */
static void put_values(FILE *f, const struct lmi_cmd *cmd, const struct lmi_opt *o, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, o++) {
		if (!o->doc || o->type == LMI_OPT_FLAG)
			continue;
		if (o->name)
			fprintf(f, " \\\n\t\t'%s --%s'", cmd ? cmd->name : "*", o->name);
		if (o->letter)
			fprintf(f, " \\\n\t\t'%s -%c'", cmd ? cmd->name : "*", o->letter);
	}
}

static void put_walk(FILE *f, const struct lmi_completion *c)
{
	const struct lmi_program *p = c->prog;

	fprintf(f,
		"# Sets the command that stands before the cursor, how many arguments follow it, the\n"
		"# last of them, and the options that say where the daemon is.\n"
		"function __%s_walk --no-scope-shadowing\n"
		"\tset -l pending\n"
		"\tfor w in (commandline -opc)[2..]\n"
		"\t\tif set -q pending[1]\n"
		"\t\t\tcontains -- $pending",
		p->name);
	for (uint32_t i = 0; c->forward[i]; i++)
		fprintf(f, " --%s", c->forward[i]);
	fprintf(f, "; and set -a at $pending $w\n"
		   "\t\t\tset -e pending\n"
		   "\t\t\tcontinue\n"
		   "\t\tend\n"
		   "\t\tswitch \"$cmd $w\"\n\t\tcase");
	for (uint32_t i = 0; i < p->n_cmds; i++)
		put_values(f, p->cmds[i], p->cmds[i]->opts, p->cmds[i]->n_opts);
	put_values(f, NULL, p->opts, p->n_opts);
	fputs("\n\t\t\tset pending $w\n\t\tcase", f);
	for (uint32_t i = 0; c->forward[i]; i++)
		fprintf(f, " '* --%s=*'", c->forward[i]);
	fputs("\n\t\t\tset -a at $w\n\t\tcase '* -*'\n\t\tcase", f);
	for (uint32_t i = 0; i < p->n_cmds; i++)
		if (strchr(p->cmds[i]->name, ' '))
			fprintf(f, " \\\n\t\t\t'%s'", p->cmds[i]->name);
	fputs("\n\t\t\tset cmd \"$cmd $w\"\n"
	      "\t\tcase ' *'\n\t\t\tset cmd $w\n"
	      "\t\tcase '*'\n\t\t\tset n (math $n + 1)\n\t\t\tset last $w\n"
	      "\t\tend\n\tend\nend\n\n",
	      f);
	fprintf(f,
		"# COMMAND [NUMBER]: is the cursor there?\n"
		"function __%s_at\n"
		"\tset -l cmd\n\tset -l n 0\n\tset -l last\n\tset -l at\n"
		"\t__%s_walk\n"
		"\ttest \"$cmd\" = $argv[1]; and begin; not set -q argv[2]; or test $n = $argv[2]; end\n"
		"end\n\n"
		"# KIND: the words of a kind, from the program itself\n"
		"function __%s_words\n"
		"\tset -l cmd\n\tset -l n 0\n\tset -l last\n\tset -l at\n"
		"\t__%s_walk\n"
		"\tset -l program (commandline -opc)[1]\n"
		"\t$program $at --emit-words \"$argv[1]:$last\" 2>/dev/null\n"
		"end\n\n",
		p->name, p->name, p->name, p->name);
}

void lmi_completion_fish(FILE *f, const struct lmi_completion *c)
{
	const struct lmi_program *p = c->prog;

	fprintf(f,
		"# SPDX-License-Identifier: MIT\n"
		"# Completion of %s for fish, written by '%s --emit-completion fish'.\n\n",
		p->name, p->name);
	if (p->n_cmds)
		put_walk(f, c);
	fprintf(f, "complete -c %s -f\n", p->name);
	for (uint32_t i = 0; i < p->n_opts; i++)
		put_option(f, c, NULL, &p->opts[i]);
	put_words(f, c);
	for (uint32_t i = 0; i < p->n_cmds; i++)
		put_command(f, c, p->cmds[i]);
}
