/* SPDX-License-Identifier: MIT
 *
 * Completion for zsh: a list of specs for _arguments for each command. */
#include <stdio.h>
#include <string.h>

#include "core/cli/completion.h"

#define BRIEF 100

/* Text inside a spec that stands between single quotes. */
static void put_escaped(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			fputs("'\\''", f);
		else if (strchr("[]:\\", *s))
			fprintf(f, "\\%c", *s);
		else
			putc(*s, f);
	}
}

/* ":VALUE:ACTION" */
static void put_action(FILE *f, const struct lmi_cli_completion *c, const char *what,
		       const char *kind)
{
	putc(':', f);
	put_escaped(f, what);
	putc(':', f);
	if (*kind == '=') {
		putc('(', f);
		for (kind++; *kind; kind++)
			fprintf(f, *kind == ':' ? "\\%c" : "%c", *kind == '|' ? ' ' : *kind);
		putc(')', f);
	} else if (!strcmp(kind, "file")) {
		fputs("_files", f);
	} else if (!strcmp(kind, "dir")) {
		fputs("_files -/", f);
	} else if (strcmp(kind, "none")) {
		fprintf(f, "{_%s_offer %s}", c->prog->name, kind);
	} else {
		putc(' ', f);
	}
}

/* '(-p --prompt)'{-p+,--prompt=}'[What it is for]:TEXT:ACTION' */
static void put_option(FILE *f, const struct lmi_cli_completion *c, const struct lmi_cli_cmd *cmd,
		       const struct lmi_opt *o)
{
	bool value = o->type != LMI_OPT_FLAG, repeated = o->type == LMI_OPT_LIST;
	char brief[BRIEF], buf[LMI_CLI_COMPLETION_KIND_SIZE];

	if (!o->doc)
		return;
	fputs(" \\\n\t\t", f);
	if (o->name && o->letter) {
		if (repeated)
			fputs("'*'", f);
		else
			fprintf(f, "'(-%c --%s)'", o->letter, o->name);
		fprintf(f, "{-%c%s,--%s%s}'", o->letter, value ? "+" : "", o->name,
			value ? "=" : "");
	} else if (o->name) {
		fprintf(f, "'%s--%s%s", repeated ? "*" : "", o->name, value ? "=" : "");
	} else {
		fprintf(f, "'%s-%c%s", repeated ? "*" : "", o->letter, value ? "+" : "");
	}
	putc('[', f);
	put_escaped(f, lmi_cli_completion_brief(o->doc, brief, sizeof(brief)));
	putc(']', f);
	if (value)
		put_action(f, c, o->type == LMI_OPT_CHOICE ? o->name : o->value,
			   lmi_cli_completion_opt_kind(c, cmd, o, buf));
	putc('\'', f);
}

static void put_command(FILE *f, const struct lmi_cli_completion *c, const struct lmi_cli_cmd *cmd)
{
	const char *kind;
	bool repeated = false;

	fprintf(f, "\t\"%s\") _arguments -s -S $common", cmd->name);
	for (uint32_t i = 0; i < cmd->n_opts; i++)
		put_option(f, c, cmd, &cmd->opts[i]);
	for (uint32_t i = 0;
	     !repeated && (kind = lmi_cli_completion_arg_kind(c, cmd, i, &repeated)); i++) {
		fprintf(f, repeated ? " \\\n\t\t'*" : " \\\n\t\t'%u", i + 1);
		put_action(f, c, cmd->name, kind);
		putc('\'', f);
	}
	fputs(" ;;\n", f);
}

/* 'run:Ask a model file' for the first words, or the second ones after `first`. */
static void put_words(FILE *f, const struct lmi_cli_program *p, const char *first, size_t len)
{
	for (uint32_t i = 0; i < p->n_cmds; i++) {
		const char *w = p->cmds[i]->name;
		size_t n = lmi_cli_completion_first_word(p, i);

		if (first && (strncmp(w, first, len) || w[len] != ' '))
			continue;
		if (!first && strchr(w, ' ') && (!n || lmi_cli_cmd_find(p, w)->name != w))
			continue;
		if (!first && n) {
			char word[64];

			(void)snprintf(word, sizeof(word), "%.*s", (int)n, w);
			if (!lmi_cli_cmd_find(p, word))
				fprintf(f, " \\\n\t\t'%s:%s ...'", word, word);
			continue;
		}
		fprintf(f, " \\\n\t\t'%s:", first ? w + len + 1 : w);
		put_escaped(f, p->cmds[i]->brief);
		putc('\'', f);
	}
}

static const char head[] =
	"# KIND...: the words of a kind, from the program itself\n"
	"_@_offer()\n"
	"{\n"
	"\tlocal kind\n"
	"\tlocal -a list\n"
	"\tfor kind; do\n"
	"\t\tif [[ $kind == file ]]; then _files; continue; fi\n"
	"\t\tlist=(${(f)\"$(${(Q)program} \"${(@Q)at}\" --emit-words $kind:${(Q)words[CURRENT-1]} 2>/dev/null)\"})\n"
	"\t\tcompadd -a list\n"
	"\tdone\n"
	"}\n\n";

static void put_text(FILE *f, const char *name, const char *text)
{
	for (; *text; text++) {
		if (*text == '@' && text[-1] == '_')
			fputs(name, f);
		else
			putc(*text, f);
	}
}

static void put_common(FILE *f, const struct lmi_cli_completion *c)
{
	fputs("\tlocal -a common\n\tcommon=(", f);
	for (uint32_t i = 0; i < c->prog->n_opts; i++)
		put_option(f, c, NULL, &c->prog->opts[i]);
	fputs(")\n", f);
}

static void put_forward(FILE *f, const struct lmi_cli_completion *c)
{
	fputs("\tfor ((i = 2; i < CURRENT; i++)); do\n\t\tcase $words[i] in\n", f);
	for (uint32_t i = 0; c->forward[i]; i++)
		fprintf(f,
			"\t\t--%s) at+=($words[i] $words[i+1]) ;;\n"
			"\t\t--%s=*) at+=($words[i]) ;;\n",
			c->forward[i], c->forward[i]);
	fputs("\t\tesac\n\tdone\n", f);
}

static void put_commands(FILE *f, const struct lmi_cli_completion *c)
{
	const struct lmi_cli_program *p = c->prog;

	put_forward(f, c);
	fputs("\tlocal -a commands\n\tcommands=(", f);
	put_words(f, p, NULL, 0);
	fputs(")\n"
	      "\t_arguments -C -s -S $common '1: :->command' '*:: :->rest' && return\n"
	      "\tif [[ $state == command ]]; then\n"
	      "\t\t_describe command commands\n\t\treturn\n\tfi\n"
	      "\tcommand=$words[1]\n"
	      "\tcase $command in\n",
	      f);
	for (uint32_t i = 0; i < p->n_cmds; i++) {
		size_t n = lmi_cli_completion_first_word(p, i);

		if (!n)
			continue;
		fprintf(f, "\t%.*s) commands=(", (int)n, p->cmds[i]->name);
		put_words(f, p, p->cmds[i]->name, n);
		fputs(") ;;\n", f);
	}
	fputs("\t*) commands=() ;;\n\tesac\n"
	      "\tif (( $#commands && CURRENT == 2 )); then\n"
	      "\t\t_describe command commands\n"
	      "\telif (( ${commands[(I)${words[2]-}:*]} )); then\n"
	      "\t\tcommand+=\" $words[2]\"\n\t\tshift words\n\t\t(( CURRENT-- ))\n\tfi\n"
	      "\tcase $command in\n",
	      f);
	for (uint32_t i = 0; i < p->n_cmds; i++)
		put_command(f, c, p->cmds[i]);
	fputs("\tesac\n", f);
}

void lmi_cli_completion_zsh(FILE *f, const struct lmi_cli_completion *c)
{
	fprintf(f,
		"#compdef %s\n# SPDX-License-Identifier: MIT\n"
		"# Completion of %s for zsh, written by '%s --emit-completion zsh'.\n\n",
		c->prog->name, c->prog->name, c->prog->name);
	if (c->prog->n_cmds)
		put_text(f, c->prog->name, head);
	fprintf(f,
		"_%s()\n{\n"
		"\tlocal curcontext=$curcontext state line program=$words[1] command i\n"
		"\tlocal -a at\n\ttypeset -A opt_args\n",
		c->prog->name);
	put_common(f, c);
	if (c->prog->n_cmds)
		put_commands(f, c);
	else
		fputs("\t_arguments -s -S $common\n", f);
	fprintf(f, "}\n\n_%s \"$@\"\n", c->prog->name);
}
