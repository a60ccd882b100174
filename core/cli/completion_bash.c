/* SPDX-License-Identifier: MIT
 *
 * Completion for bash.  The script walks the words before the cursor as opts.c does, which says
 * whether an option, its value or an argument is wanted; the rest are tables. */
#include <stdio.h>
#include <string.h>

#include "core/cli/completion.h"

static void put_options(FILE *f, const struct lmi_opt *o, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (o[i].doc && o[i].letter)
			fprintf(f, " -%c", o[i].letter);
		if (o[i].doc && o[i].name)
			fprintf(f, " --%s", o[i].name);
	}
}

/* "run --temp"|"run -t") kind=... of the options that take a value. */
static void put_values(FILE *f, const struct lmi_cli_completion *c, const struct lmi_cli_cmd *cmd,
		       const struct lmi_opt *o, uint32_t n)
{
	char buf[LMI_CLI_COMPLETION_KIND_SIZE];

	for (uint32_t i = 0; i < n; i++, o++) {
		if (!o->doc || o->type == LMI_OPT_FLAG)
			continue;
		putc('\t', f);
		if (o->name)
			fprintf(f, "%s%s --%s\"", cmd ? "\"" : "*\"", cmd ? cmd->name : "",
				o->name);
		if (o->letter)
			fprintf(f, "%s%s%s -%c\"", o->name ? "|" : "", cmd ? "\"" : "*\"",
				cmd ? cmd->name : "", o->letter);
		fprintf(f, ") kind='%s' ;;\n", lmi_cli_completion_opt_kind(c, cmd, o, buf));
	}
}

/* _P_value COMMAND OPTION */
static void put_value_function(FILE *f, const struct lmi_cli_completion *c)
{
	const struct lmi_cli_program *p = c->prog;

	fprintf(f, "# COMMAND OPTION: sets kind and succeeds if the option takes a value\n"
		   "_%s_value()\n{\n\tcase \"$1 $2\" in\n", p->name);
	for (uint32_t i = 0; i < p->n_cmds; i++)
		put_values(f, c, p->cmds[i], p->cmds[i]->opts, p->cmds[i]->n_opts);
	put_values(f, c, NULL, p->opts, p->n_opts);
	fputs("\t*) return 1 ;;\n\tesac\n}\n\n", f);
}

static void put_argument_function(FILE *f, const struct lmi_cli_completion *c)
{
	const struct lmi_cli_program *p = c->prog;

	fprintf(f, "# COMMAND NUMBER: sets kind of that argument\n"
		   "_%s_argument()\n{\n\tcase \"$1 $2\" in\n", p->name);
	for (uint32_t i = 0; i < p->n_cmds; i++) {
		const char *kind;
		bool repeated = false;

		for (uint32_t k = 0;
		     !repeated && (kind = lmi_cli_completion_arg_kind(c, p->cmds[i], k, &repeated));
		     k++) {
			if (repeated)
				fprintf(f, "\t\"%s \"*) kind='%s' ;;\n", p->cmds[i]->name, kind);
			else
				fprintf(f, "\t\"%s %u\") kind='%s' ;;\n", p->cmds[i]->name, k,
					kind);
		}
	}
	fputs("\t*) kind=none ;;\n\tesac\n}\n\n", f);
}

/* The first words of commands, or the second words after `first`, len bytes. */
static void put_words(FILE *f, const struct lmi_cli_program *p, const char *first, size_t len)
{
	for (uint32_t i = 0; i < p->n_cmds; i++) {
		const char *w = p->cmds[i]->name;

		if (first && (strncmp(w, first, len) || w[len] != ' '))
			continue;
		if (first)
			fprintf(f, " %s", w + len + 1);
		else if (!strchr(w, ' '))
			fprintf(f, " %s", w);
		else if (lmi_cli_completion_first_word(p, i))
			fprintf(f, " %.*s", (int)strcspn(w, " "), w);
	}
}

/* _P_words COMMAND: what begins with "-", and commands. */
static void put_word_function(FILE *f, const struct lmi_cli_completion *c)
{
	const struct lmi_cli_program *p = c->prog;

	fprintf(f, "# COMMAND: sets options, and commands that may follow\n"
		   "_%s_words()\n{\n\toptions='", p->name);
	put_options(f, p->opts, p->n_opts);
	fputs("' commands=\n\tcase \"$1\" in\n\t\"\") commands='", f);
	put_words(f, p, NULL, 0);
	fputs("' ;;\n", f);
	for (uint32_t i = 0; i < p->n_cmds; i++) {
		fprintf(f, "\t\"%s\") options+='", p->cmds[i]->name);
		put_options(f, p->cmds[i]->opts, p->cmds[i]->n_opts);
		fputs("' ;;\n", f);
	}
	fputs("\tesac\n\tcase \"$1\" in\n", f);
	for (uint32_t i = 0; i < p->n_cmds; i++) {
		size_t n = lmi_cli_completion_first_word(p, i);

		if (!n)
			continue;
		fprintf(f, "\t%.*s) commands='", (int)n, p->cmds[i]->name);
		put_words(f, p, p->cmds[i]->name, n);
		fputs("' ;;\n", f);
	}
	fputs("\tesac\n}\n\n", f);
}

/* @ stands for the program's name. */
static const char offer[] =
	"# KIND: adds what begins with $cur to COMPREPLY\n"
	"_@_offer()\n"
	"{\n"
	"\tlocal IFS=$'\\n' w\n"
	"\tlocal -a list=()\n"
	"\tcase \"$1\" in\n"
	"\tnone) compopt +o default 2>/dev/null; return ;;\n"
	"\tfile|dir)\n"
	"\t\t# a quoted name is left to bash itself\n"
	"\t\t[[ $cur == *[\\\\\\'\\\"\\$~]* ]] && return\n"
	"\t\tcompopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t list < <(compgen \"-${1:0:1}\" -- \"$cur\")\n"
	"\t\tCOMPREPLY+=(\"${list[@]}\")\n"
	"\t\treturn ;;\n"
	"\t=*) w=${1#=}; mapfile -t list <<<\"${w//|/$'\\n'}\" ;;\n"
	"\t*) mapfile -t list < <(\"${words[0]}\" \"${at[@]}\" --emit-words \"$1:$last\" 2>/dev/null) ;;\n"
	"\tesac\n"
	"\tfor w in \"${list[@]}\"; do\n"
	"\t\t[[ $w == \"$cur\"* ]] || continue\n"
	"\t\tCOMPREPLY+=(\"$w\")\n"
	"\t\t[[ $w != */ ]] || compopt -o nospace 2>/dev/null # more follows\n"
	"\tdone\n"
	"}\n\n";

static const char walk[] =
	"_@()\n"
	"{\n"
	"\tlocal line=${COMP_LINE-} kind=none n=0 cur i w\n"
	"\tlocal cmd='' last='' options='' commands='' pending='' rest=''\n"
	"\tlocal -a words=() at=()\n"
	"\t# bash cuts words at = and : as well; here they are put together again\n"
	"\tfor ((i = 0; i <= COMP_CWORD; i++)); do\n"
	"\t\tw=${COMP_WORDS[i]}\n"
	"\t\tif [[ $i -gt 0 && -n $line && $line != [[:space:]]* ]]; then\n"
	"\t\t\twords[${#words[@]}-1]+=$w\n"
	"\t\telse\n"
	"\t\t\twords+=(\"$w\")\n"
	"\t\tfi\n"
	"\t\tline=${line#\"${line%%[![:space:]]*}\"}\n"
	"\t\tline=${line#\"$w\"}\n"
	"\tdone\n"
	"\tcur=${words[${#words[@]}-1]}\n"
	"\tCOMPREPLY=()\n"
	"\tfor ((i = 1; i < ${#words[@]} - 1; i++)); do\n"
	"\t\tw=${words[i]}\n"
	"\t\tif [[ $pending ]]; then\n"
	"\t\t\tcase \"$pending\" in\n"
	"\t\t\t@forward) at+=(\"$pending\" \"${w/#\\~/$HOME}\") ;;\n"
	"\t\t\tesac\n"
	"\t\t\tpending=\n"
	"\t\telif [[ $rest || $w != -?* ]]; then\n"
	"\t\t\t_@_words \"$cmd\"\n"
	"\t\t\tif [[ $n -eq 0 && \" $commands \" == *\" $w \"* ]]; then\n"
	"\t\t\t\tcmd=${cmd:+$cmd }$w\n"
	"\t\t\telse\n"
	"\t\t\t\tlast=$w n=$((n + 1))\n"
	"\t\t\tfi\n"
	"\t\telif [[ $w == -- ]]; then\n"
	"\t\t\trest=1\n"
	"\t\telif [[ $w == --*=* ]]; then\n"
	"\t\t\tcase \"${w%%=*}\" in\n"
	"\t\t\t@forward) at+=(\"$w\") ;;\n"
	"\t\t\tesac\n"
	"\t\telif _@_value \"$cmd\" \"$w\"; then\n"
	"\t\t\tpending=$w\n"
	"\t\tfi\n"
	"\tdone\n"
	"\t_@_words \"$cmd\"\n"
	"\tif [[ $pending ]]; then\n"
	"\t\t_@_value \"$cmd\" \"$pending\"\n"
	"\telif [[ -z $rest && $cur == --*=* ]]; then\n"
	"\t\t_@_value \"$cmd\" \"${cur%%=*}\" || return\n"
	"\t\tcur=${cur#*=}\n"
	"\telif [[ -z $rest && $cur == -* ]]; then\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
	"\t\treturn\n"
	"\telse\n"
	"\t\tkind=none\n"
	"\t\t[[ -z $cmd ]] || _@_argument \"$cmd\" \"$n\"\n"
	"\t\t[[ $n -eq 0 && $commands ]] &&\n"
	"\t\t\tmapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$cur\")\n"
	"\tfi\n"
	"\tfor w in $kind; do\n"
	"\t\t_@_offer \"$w\"\n"
	"\tdone\n"
	"\t# bash replaces what stands after the last = or : alone\n"
	"\tw=${cur##*[:=]}\n"
	"\tif [[ $w != \"$cur\" && $COMP_WORDBREAKS == *:* ]]; then\n"
	"\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"${cur%\"$w\"}\"}\")\n"
	"\tfi\n"
	"}\n"
	"complete -o default -F _@ @\n";

/* The text with @ as the program's name and @forward as a pattern of options. */
static void put_text(FILE *f, const struct lmi_cli_completion *c, const char *text)
{
	for (; *text; text++) {
		if (*text != '@') {
			putc(*text, f);
		} else if (!strncmp(text, "@forward", 8)) {
			for (uint32_t i = 0; c->forward && c->forward[i]; i++)
				fprintf(f, "%s--%s", i ? "|" : "", c->forward[i]);
			if (!c->forward || !c->forward[0])
				fputs("--", f);
			text += 7;
		} else if (text[1] == ']' || text[1] == '"') {
			putc(*text, f); /* "${list[@]}" */
		} else {
			fputs(c->prog->name, f);
		}
	}
}

void lmi_cli_completion_bash(FILE *f, const struct lmi_cli_completion *c)
{
	fprintf(f,
		"# SPDX-License-Identifier: MIT\n"
		"# shellcheck shell=bash\n"
		"# Completion of %s for bash, written by '%s --emit-completion bash'.\n\n",
		c->prog->name, c->prog->name);
	put_value_function(f, c);
	put_argument_function(f, c);
	put_word_function(f, c);
	put_text(f, c, offer);
	put_text(f, c, walk);
}
