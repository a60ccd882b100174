/* SPDX-License-Identifier: MIT
 *
 * Table-driven parsing of the command line. The first word that is not an option (two words if they
 * name a command) is the command. After it, the common options and those of the command are valid,
 * and the command's take precedence. Before it, common options and flags of commands are allowed
 * ("--json list"); these flags wait until the command is known. Defaults are parsed by the same
 * code as user input, so an invalid default is noticed. */
#include "core/cli/opts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/cli/suggest.h"
#include "core/base/alloc.h"
#include "llamad/attr.h"

struct parser {
	struct lmi_args *a;
	int argc, at;
	char *const *argv;
	const char **early; /* [n_early] flags given before their command */
	uint32_t n_early;
	struct lmd_error *err;
};

const struct lmi_cli_cmd *lmi_cli_cmd_find(const struct lmi_cli_program *prog, const char *name)
{
	for (uint32_t i = 0; i < prog->n_cmds; i++)
		if (!strcmp(prog->cmds[i]->name, name))
			return prog->cmds[i];
	return NULL;
}

void lmi_args_count(const char *args, uint32_t *min, uint32_t *max)
{
	*min = *max = 0;
	for (const char *p = args; p && *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");

		*min += *p != '[';
		*max += *max != UINT32_MAX;
		if (n > 3 && !strncmp(p + n - 3, "...", 3))
			*max = UINT32_MAX;
		p += n;
	}
}

static enum lmd_status choose(struct lmi_opt_value *v, const char *text, struct lmd_error *err)
{
	size_t n = strlen(text);
	int64_t i = 0;

	for (const char *w = v->opt->value; *w; i++) {
		size_t len = strcspn(w, "|");

		if (len == n && !memcmp(w, text, n)) {
			v->i = i;
			v->s = text;
			return LMD_OK;
		}
		w += len + (w[len] == '|');
	}
	return lmd_fail(err, LMD_INVALID, "'%.60s' is not one of %s", text, v->opt->value);
}

static enum lmd_status in_range(const struct lmi_opt *o, double x, const char *text,
				struct lmd_error *err)
{
	const char *unit = o->type == LMI_OPT_TIME ? " ms" : "";

	if (o->min == 0 && o->max == 0)
		return LMD_OK;
	if (x < o->min)
		return lmd_fail(err, LMD_INVALID, "%.60s is below %.10g%s", text, o->min, unit);
	if (x > o->max)
		return lmd_fail(err, LMD_INVALID, "%.60s is above %.10g%s", text, o->max, unit);
	return LMD_OK;
}

static enum lmd_status append(struct lmi_opt_value *v, const char *text, struct lmd_error *err)
{
	const char **list = lmi_realloc(v->list, v->n_list + 1, sizeof(*list));

	if (!list)
		return lmd_fail(err, LMD_NOMEM, "no memory for the command line");
	v->list = list;
	v->list[v->n_list++] = text;
	return LMD_OK;
}

enum lmd_status lmi_opt_set(struct lmi_opt_value *v, const char *text, struct lmd_error *err)
{
	const struct lmi_opt *o = v->opt;
	enum lmd_status st = LMD_OK;
	int64_t i = 0;
	double f = 0;

	switch (o->type) {
	case LMI_OPT_FLAG:
		v->i = 1;
		return LMD_OK;
	case LMI_OPT_INT:
	case LMI_OPT_SIZE:
	case LMI_OPT_TIME:
		st = o->type == LMI_OPT_INT    ? lmi_cli_parse_int(NULL, text, &i, err)
		     : o->type == LMI_OPT_SIZE ? lmi_cli_parse_size(NULL, text, &i, err)
					       : lmi_cli_parse_time(NULL, text, &i, err);
		if (st == LMD_OK)
			st = in_range(o, (double)i, text, err);
		if (st == LMD_OK)
			v->i = i;
		return st;
	case LMI_OPT_FLOAT:
		st = lmi_cli_parse_float(NULL, text, &f, err);
		if (st == LMD_OK)
			st = in_range(o, f, text, err);
		if (st == LMD_OK)
			v->f = f;
		return st;
	case LMI_OPT_STR:
		v->s = text;
		return LMD_OK;
	case LMI_OPT_CHOICE:
		return choose(v, text, err);
	case LMI_OPT_LIST:
		return append(v, text, err);
	}
	return LMD_OK;
}

/* Appends the values of n options, set to their defaults. */
static void add_options(struct lmi_args *a, const struct lmi_opt *opts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct lmi_opt_value *v = &a->value[a->n_value++];

		v->opt = &opts[i];
		if (opts[i].def && opts[i].type != LMI_OPT_LIST) {
			enum lmd_status st = lmi_opt_set(v, opts[i].def, NULL);

			assert(st == LMD_OK && "a default must be valid for its option");
			(void)st;
		}
	}
}

/* Returns the value of a long option (n bytes of name) or, if n = 0, of a one-letter option. */
static struct lmi_opt_value *find_option(const struct lmi_args *a, const char *name, size_t n)
{
	for (uint32_t i = 0; i < a->n_value; i++) {
		const struct lmi_opt *o = a->value[i].opt;

		if (n ? o->name && strlen(o->name) == n && !memcmp(o->name, name, n)
		      : o->letter == *name)
			return &a->value[i];
	}
	return NULL;
}

/* Returns the value of a long option that is spelled as in another program, or NULL. */
static struct lmi_opt_value *find_spelling(const struct lmi_args *a, const char *name, size_t n)
{
	for (uint32_t i = 0; i < a->prog->n_spellings; i++) {
		const struct lmi_cli_spelling *s = &a->prog->spellings[i];

		if (strlen(s->theirs) == n && !memcmp(s->theirs, name, n))
			return find_option(a, s->ours, strlen(s->ours));
	}
	return NULL;
}

/* The command's name for messages; "" before it is known. */
static const char *command_name(const struct parser *p)
{
	return p->a->cmd ? p->a->cmd->name : "";
}

static enum lmd_status unknown_option(struct parser *p, const char *name, size_t n)
{
	const char *cmd = command_name(p), *gap = *cmd ? " " : "";
	char typed[64];
	struct lmi_cli_suggest s;

	if (n >= sizeof(typed))
		n = sizeof(typed) - 1;
	memcpy(typed, name, n);
	typed[n] = 0;
	lmi_cli_suggest_init(&s, typed);
	for (uint32_t i = 0; i < p->a->n_value; i++)
		if (p->a->value[i].opt->name && p->a->value[i].opt->doc)
			lmi_cli_suggest_consider(&s, p->a->value[i].opt->name);
	for (uint32_t i = 0; i < p->a->prog->n_spellings; i++) {
		const struct lmi_cli_spelling *x = &p->a->prog->spellings[i];

		if (find_option(p->a, x->ours, strlen(x->ours)))
			lmi_cli_suggest_consider(&s, x->theirs);
	}
	if (s.best)
		return lmd_fail(p->err, LMD_INVALID,
				"unknown option '--%s' (did you mean '--%s'?); see %s%s%s --help",
				typed, s.best, p->a->prog->name, gap, cmd);
	return lmd_fail(p->err, LMD_INVALID, "unknown option '--%s'; see %s%s%s --help", typed,
			p->a->prog->name, gap, cmd);
}

/* Finds an option of any command, or NULL. A flag counts only if it is a flag in every command that
 * has it. */
static const struct lmi_opt *command_option(const struct lmi_cli_program *prog, const char *name,
					    size_t n)
{
	const struct lmi_opt *found = NULL;

	for (uint32_t i = 0; i < prog->n_cmds; i++) {
		const struct lmi_cli_cmd *c = prog->cmds[i];

		for (uint32_t k = 0; k < c->n_opts; k++)
			if (c->opts[k].name && strlen(c->opts[k].name) == n &&
			    !memcmp(c->opts[k].name, name, n) &&
			    (!found || c->opts[k].type != LMI_OPT_FLAG))
				found = &c->opts[k];
	}
	return found;
}

/* Handles an option before the command that is not a common one. A flag waits for the command. An
 * option with a value is an error, because its value could not be told apart from the name of the
 * command. */
static enum lmd_status early_option(struct parser *p, const char *word, size_t n)
{
	const char *prog = p->a->prog->name;
	const struct lmi_opt *o = command_option(p->a->prog, word + 2, n);

	if (!o)
		return unknown_option(p, word + 2, n);
	if (o->type != LMI_OPT_FLAG)
		return lmd_fail(p->err, LMD_INVALID,
				"option '--%s' must follow the command: %s COMMAND --%s %s",
				o->name, prog, o->name, o->value);
	p->early[p->n_early++] = word;
	return LMD_OK;
}

/* Sets v from `text`, or from the next word if text is NULL; `spelled` is the option as the user
 * wrote it. */
static enum lmd_status take_value(struct parser *p, struct lmi_opt_value *v, const char *spelled,
				  const char *text)
{
	enum lmd_status st;

	if (v->opt->type != LMI_OPT_FLAG && !text) {
		if (p->at >= p->argc)
			return lmd_fail(p->err, LMD_INVALID, "option '%.60s' needs a value: %s",
					spelled, v->opt->value);
		text = p->argv[p->at++];
	}
	v->given = true;
	st = lmi_opt_set(v, text, p->err);
	if (st == LMD_INVALID) {
		char prefix[80];

		snprintf(prefix, sizeof(prefix), "option '%.60s'", spelled);
		lmd_error_prefix(p->err, prefix);
	}
	return st;
}

static enum lmd_status long_option(struct parser *p, const char *word)
{
	const char *name = word + 2, *eq = strchr(name, '=');
	size_t n = eq ? (size_t)(eq - name) : strlen(name);
	struct lmi_opt_value *v = n ? find_option(p->a, name, n) : NULL;
	char spelled[64];

	if (!v && n)
		v = find_spelling(p->a, name, n);
	if (!v)
		return p->a->cmd || !n ? unknown_option(p, name, n) : early_option(p, word, n);
	snprintf(spelled, sizeof(spelled), "--%s", v->opt->name);
	if (v->opt->type == LMI_OPT_FLAG && eq)
		return lmd_fail(p->err, LMD_INVALID, "option '%s' takes no value, but got '%.60s'",
				spelled, eq + 1);
	return take_value(p, v, spelled, eq ? eq + 1 : NULL);
}

/* Handles short options: -n 8, -n8, -hv; and undocumented names of options with one dash. */
static enum lmd_status letters(struct parser *p, const char *word)
{
	struct lmi_opt_value *whole = find_option(p->a, word + 1, strlen(word + 1));

	/* habits from elsewhere: -ngl 20 */
	if (whole && !whole->opt->doc && word[2] && whole->opt->type != LMI_OPT_FLAG)
		return take_value(p, whole, word, NULL);
	for (const char *c = word + 1; *c; c++) {
		struct lmi_opt_value *v = find_option(p->a, c, 0);
		char spelled[3] = {'-', *c, 0};
		enum lmd_status st;

		if (!v)
			return lmd_fail(p->err, LMD_INVALID,
					"unknown option '%.60s'; see %s%s%s --help", word,
					p->a->prog->name, p->a->cmd ? " " : "", command_name(p));
		if (v->opt->type == LMI_OPT_FLAG) {
			v->i = 1;
			v->given = true;
			continue;
		}
		st = take_value(p, v, spelled, c[1] ? c + 1 : NULL);
		return st;
	}
	return LMD_OK;
}

static enum lmd_status unknown_command(struct parser *p, const char *word)
{
	const struct lmi_cli_program *prog = p->a->prog;
	struct lmi_cli_suggest s;
	size_t n = strlen(word);

	if (!prog->n_cmds)
		return lmd_fail(p->err, LMD_INVALID, "unexpected argument '%.60s'; see %s --help",
				word, prog->name);
	/* the first word of a two-word command alone: say that the second is missing */
	for (uint32_t i = 0; i < prog->n_cmds; i++)
		if (!strncmp(prog->cmds[i]->name, word, n) && prog->cmds[i]->name[n] == ' ')
			return lmd_fail(p->err, LMD_INVALID,
					"command '%s' needs a second word; see %s %s --help", word,
					prog->name, word);
	for (uint32_t i = 0; i < prog->n_hints; i++)
		if (!strcmp(prog->hints[i].word, word))
			return lmd_fail(p->err, LMD_INVALID,
					"unknown command '%.60s'; type: %s %s", word, prog->name,
					prog->hints[i].instead);
	lmi_cli_suggest_init(&s, word);
	for (uint32_t i = 0; i < prog->n_cmds; i++)
		lmi_cli_suggest_consider(&s, prog->cmds[i]->name);
	if (s.best)
		return lmd_fail(p->err, LMD_INVALID,
				"unknown command '%.60s' (did you mean '%s'?); see %s --help", word,
				s.best, prog->name);
	return lmd_fail(p->err, LMD_INVALID, "unknown command '%.60s'; see %s --help", word,
			prog->name);
}

static enum lmd_status set_command(struct parser *p, const char *word)
{
	struct lmi_args *a = p->a;
	const struct lmi_cli_cmd *cmd = NULL;
	struct lmi_opt_value *all;
	char two[64];
	int n;

	if (p->at < p->argc) {
		n = snprintf(two, sizeof(two), "%.30s %.30s", word, p->argv[p->at]);
		if (n == (int)(strlen(word) + strlen(p->argv[p->at]) + 1))
			cmd = lmi_cli_cmd_find(a->prog, two);
		p->at += cmd != NULL;
	}
	if (!cmd && !strchr(word, ' '))
		cmd = lmi_cli_cmd_find(a->prog, word);
	if (!cmd)
		return unknown_command(p, word);
	/* the command's options come first, so that they are found first */
	all = lmi_alloc(cmd->n_opts + a->prog->n_opts, sizeof(*all));
	if (!all)
		return lmd_fail(p->err, LMD_NOMEM, "no memory for the command line");
	memcpy(all + cmd->n_opts, a->value, a->prog->n_opts * sizeof(*all));
	lmi_free(a->value);
	a->value = all;
	a->n_value = 0;
	a->cmd = cmd;
	add_options(a, cmd->opts, cmd->n_opts);
	a->n_value += a->prog->n_opts;
	return LMD_OK;
}

/* Returns word i of a list of words, as precision and text for "%.*s". */
static const char *word_at(const char *words, uint32_t i, int *len)
{
	for (; i; i--) {
		words += strcspn(words, " ");
		words += strspn(words, " ");
	}
	*len = (int)strcspn(words, " ");
	return words;
}

static enum lmd_status check_arguments(struct parser *p)
{
	const struct lmi_args *a = p->a;
	uint32_t min, max;
	const char *missing;
	int len;

	if (!a->cmd || lmi_arg_flag(a, "help"))
		return LMD_OK;
	lmi_args_count(a->cmd->args, &min, &max);
	if (a->n_pos > max)
		return lmd_fail(p->err, LMD_INVALID,
				"unexpected argument '%.60s'; usage: %s %s [OPTION]... %s",
				a->pos[max], a->prog->name, a->cmd->name,
				a->cmd->args ? a->cmd->args : "");
	if (a->n_pos >= min)
		return LMD_OK;
	missing = word_at(a->cmd->args, a->n_pos, &len);
	return lmd_fail(p->err, LMD_INVALID,
			"argument %.*s is missing; usage: %s %s [OPTION]... %s", len, missing,
			a->prog->name, a->cmd->name, a->cmd->args);
}

enum lmd_status lmi_args_parse(struct lmi_args *a, const struct lmi_cli_program *prog, int argc,
			       char *const *argv, struct lmd_error *err)
{
	size_t n_words = (size_t)(argc > 0 ? argc : 1);
	struct parser p = {.a = a, .argc = argc, .at = 1, .argv = argv, .err = err};
	enum lmd_status st = LMD_OK;
	bool only_args = false;

	*a = (struct lmi_args){.prog = prog};
	a->value = lmi_alloc(prog->n_opts, sizeof(*a->value));
	a->pos = lmi_alloc(n_words, sizeof(*a->pos));
	p.early = lmi_alloc(n_words, sizeof(*p.early));
	if (!a->value || !a->pos || !p.early) {
		lmi_free(p.early);
		return lmd_fail(err, LMD_NOMEM, "no memory for the command line");
	}
	add_options(a, prog->opts, prog->n_opts);
	while (st == LMD_OK && p.at < argc) {
		const char *word = argv[p.at++];

		if (only_args || word[0] != '-' || !word[1]) {
			if (a->cmd)
				a->pos[a->n_pos++] = word;
			else
				st = set_command(&p, word);
		} else if (!strcmp(word, "--")) {
			only_args = true;
		} else if (word[1] == '-') {
			st = long_option(&p, word);
		} else {
			st = letters(&p, word);
		}
	}
	for (uint32_t i = 0; a->cmd && st == LMD_OK && i < p.n_early; i++)
		st = long_option(&p, p.early[i]);
	lmi_free(p.early);
	return st == LMD_OK ? check_arguments(&p) : st;
}

void lmi_args_fini(struct lmi_args *a)
{
	for (uint32_t i = 0; i < a->n_value; i++)
		lmi_free(a->value[i].list);
	lmi_free(a->value);
	lmi_free(a->pos);
	*a = (struct lmi_args){0};
}

static const struct lmi_opt_value *get(const struct lmi_args *a, const char *name)
{
	size_t n = strlen(name);
	const struct lmi_opt_value *v = find_option(a, name, n > 1 ? n : 0);

	assert(v && "the option is not in any table of this command");
	return v;
}

bool lmi_arg_given(const struct lmi_args *a, const char *name)
{
	return get(a, name)->given;
}

bool lmi_arg_flag(const struct lmi_args *a, const char *name)
{
	return get(a, name)->i != 0;
}

int64_t lmi_arg_int(const struct lmi_args *a, const char *name)
{
	return get(a, name)->i;
}

double lmi_arg_float(const struct lmi_args *a, const char *name)
{
	return get(a, name)->f;
}

const char *lmi_arg_str(const struct lmi_args *a, const char *name)
{
	return get(a, name)->s;
}

uint32_t lmi_arg_list(const struct lmi_args *a, const char *name, const char *const **out)
{
	const struct lmi_opt_value *v = get(a, name);

	*out = v->list;
	return v->n_list;
}

const char *lmi_arg_pos(const struct lmi_args *a, uint32_t i)
{
	return i < a->n_pos ? a->pos[i] : NULL;
}
