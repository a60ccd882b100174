/* SPDX-License-Identifier: MIT
 *
 * Shell completion: what each argument may be, and the words that only the daemon, the plugins or
 * other tables know. core/cli/completion*.c writes the scripts for the shells. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/remote.h"
#include "client/llamactl/texts.h"
#include "core/base/alloc.h"
#include "core/cli/completion.h"
#include "core/plugin/registry.h"
#include "core/quant/quant.h"
#include "core/quantize/quantize.h"
#include "core/text/chat/chat.h"
#include "core/text/answer/parser.h"

/* A person waits after the Tab key: a request that takes longer offers nothing. */
#define WORDS_SECONDS 2

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool is(const struct lmi_cli_cmd *cmd, const char *name)
{
	return cmd && !strcmp(cmd->name, name);
}

static const char *option_kind(const struct lmi_opt *o)
{
	const char *v = o->value;

	if (!o->name)
		return "none";
	if (!strcmp(o->name, "backend") || !strcmp(o->name, "against"))
		return "backends";
	if (!strcmp(o->name, "template"))
		return "templates file";
	if (!strcmp(v, "TYPE") || !strcmp(v, "T"))
		return "types";
	if (!strcmp(v, "URL"))
		return "=ipc://|tcp://|tls+tcp://";
	if (!strcmp(v, "DIR"))
		return "dir";
	return begins(v, "FILE") || begins(v, "F.") || begins(v, "OUT") ? "file" : "none";
}

static const char *argument_kind(const struct lmi_cli_cmd *cmd, const char *word, uint32_t arg)
{
	static const struct {
		const char *word, *kind;
	} kinds[] = {
		{"NAME", "models"}, {"COMMAND", "commands"}, {"WORD", "words"},
		{"TYPE", "ftypes"}, {"FORMAT", "formats"},   {"BACKEND", "backends"},
		{"DIR", "dir"},     {"TEXT", "none"},        {"ALIAS", "none"},
		{"PROMPT", "none"}, {"QUERY", "none"},
	};

	if (is(cmd, "add") && arg == 0)
		return "none"; /* the new name */
	if (is(cmd, "cancel"))
		return "streams";
	if (is(cmd, "key rm") || is(cmd, "key set"))
		return "keys";
	if (is(cmd, "key add") || (is(cmd, "detokenize") && arg > 0))
		return "none";
	if (is(cmd, "info") || ((is(cmd, "tokenize") || is(cmd, "detokenize")) && arg == 0))
		return "models file";
	if (is(cmd, "push"))
		return arg == 0 ? "models file" : "none";
	if (is(cmd, "debug template"))
		return "templates file";
	if (!strcmp(word, "MODEL") && !is(cmd, "export-lora") && !is(cmd, "imatrix"))
		return "models file";
	for (size_t i = 0; i < LMD_LEN(kinds); i++)
		if (!strcmp(word, kinds[i].word))
			return kinds[i].kind;
	return is(cmd, "generate") ? "models" : "file";
}

static const char *kind_of(const struct lmi_cli_cmd *cmd, const struct lmi_opt *opt,
			   const char *word, uint32_t arg)
{
	return opt ? option_kind(opt) : argument_kind(cmd, word, arg);
}

void lmi_ctl_write_completion(FILE *f, const char *shell)
{
	static const char *const forward[] = {"socket", "ca", "key-file", NULL};
	const struct lmi_cli_completion c = {
		.prog = &lmi_ctl_program, .kind = kind_of, .forward = forward};

	if (!strcmp(shell, "zsh"))
		lmi_cli_completion_zsh(f, &c);
	else if (!strcmp(shell, "fish"))
		lmi_cli_completion_fish(f, &c);
	else
		lmi_cli_completion_bash(f, &c);
}

/* ---- words ---- */

static void put_member(const json_t *row, const char *member)
{
	const char *s = json_string_value(json_object_get(row, member));

	if (s && !strchr(s, '\n'))
		puts(s);
}

/* Prints `member` of each row of the list `list` in the reply to the op. */
static void remote_words(struct lmi_ctl *ctl, const char *op, const char *list, const char *member)
{
	json_t *reply, *row, *other;
	size_t i, k;

	if (lmi_ctl_remote_call(ctl, op, NULL, &reply, NULL) != LMD_OK)
		return;
	json_array_foreach(json_object_get(reply, list), i, row)
	{
		put_member(row, member);
		json_array_foreach(json_object_get(row, "aliases"), k, other)
			puts(json_string_value(other));
	}
	json_decref(reply);
}

static void put_plugin(void *arg, const struct lmi_plugin_info *p)
{
	(void)arg;
	(void)p;
}

static void put_backend(void *arg, const struct lmi_factory_info *f)
{
	(void)arg;
	if (f->kind == LMD_KIND_BACKEND)
		puts(f->name);
}

static void backend_words(struct lmi_ctl *ctl)
{
	struct lmi_plugin_registry *r;

	if (lmi_ctl_registry(ctl, &r, NULL) == LMD_OK)
		lmi_plugin_registry_list(r, put_plugin, put_backend, NULL);
}

static void type_words(void)
{
	for (uint32_t i = 0; i < LMD_DTYPE_END; i++)
		if (lmi_dtype(i) && lmi_dtype(i)->quant && !lmi_dtype(i)->is_activation)
			puts(lmi_dtype(i)->name);
}

static void ftype_words(void)
{
	for (uint32_t i = 0; i < LMI_FTYPE_END; i++)
		if (lmi_ftype(i))
			puts(lmi_ftype(i)->name);
}

static void template_words(void)
{
	for (unsigned i = 0; i < lmi_chat_builtins_n; i++)
		puts(lmi_chat_builtins[i].name);
}

/* Prints the first words of commands, or the second words after `first`. */
static void command_words(const char *first)
{
	size_t n = first ? strlen(first) : 0;

	for (uint32_t i = 0; i < lmi_ctl_program.n_cmds; i++) {
		const char *w = lmi_ctl_program.cmds[i]->name;

		if (first && begins(w, first) && w[n] == ' ')
			puts(w + n + 1);
		else if (!first &&
			 (!strchr(w, ' ') || lmi_cli_completion_first_word(&lmi_ctl_program, i)))
			printf("%.*s\n", (int)strcspn(w, " "), w);
	}
}

static void end_silently(int sig)
{
	(void)sig;
	_exit(0);
}

void lmi_ctl_write_words(struct lmi_ctl *ctl, const char *what)
{
	const char *name;

	(void)signal(SIGALRM, end_silently);
	(void)alarm(WORDS_SECONDS);
	if (begins(what, "models:"))
		remote_words(ctl, "models", "models", "name");
	else if (begins(what, "keys:"))
		remote_words(ctl, "keys", "keys", "label");
	else if (begins(what, "streams:"))
		remote_words(ctl, "streams", "streams", "id");
	else if (begins(what, "backends:"))
		backend_words(ctl);
	else if (begins(what, "types:"))
		type_words();
	else if (begins(what, "ftypes:"))
		ftype_words();
	else if (begins(what, "templates:"))
		template_words();
	else if (begins(what, "commands:"))
		command_words(NULL);
	else if (begins(what, "words:"))
		command_words(what + strlen("words:"));
	else if (begins(what, "formats:"))
		for (uint32_t i = 0; (name = lmi_answer_format_name_at(i)); i++)
			puts(name);
	(void)alarm(0);
}
