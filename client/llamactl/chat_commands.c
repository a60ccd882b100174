/* SPDX-License-Identifier: MIT
 *
 * The commands of a conversation. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/chat_impl.h"
#include "client/llamactl/ctl.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/cli/texts.h"

#define ATTACHED_MAX (8u << 20)
#define HELP_USAGE   20 /* columns of a command and its arguments in /help */
#define SHOWN_MAX    60 /* bytes of a message that /undo shows, at most */

bool lmi_ctl_chat_is_command(const char *line)
{
	return line[0] == '/' && (isalpha((unsigned char)line[1]) || line[1] == '?');
}

/* ---- /set ---- */

/* Spellings of other programs. */
static const struct {
	const char *theirs, *ours;
} spellings[] = {{"temperature", "temp"},
		 {"num_predict", "predict"},
		 {"max_tokens", "predict"},
		 {"n", "predict"},
		 {"typical_p", "typical"}};

/* Writes the option that a name means: with '-' for '_'. */
static void option_name(char *out, size_t size, const char *name)
{
	for (size_t i = 0; i < LMD_LEN(spellings); i++)
		if (!strcmp(name, spellings[i].theirs))
			name = spellings[i].ours;
	(void)snprintf(out, size, "%s", name);
	for (char *p = out; *p; p++)
		*p = *p == '_' ? '-' : *p;
}

static struct lmi_opt_value *find_option(const struct lmi_args *a, const char *name,
					 const struct lmi_opt **opt)
{
	for (uint32_t i = 0; i < a->cmd->n_opts; i++) {
		*opt = &a->cmd->opts[i];
		if ((*opt)->name && !strcmp((*opt)->name, name))
			return &a->value[i];
	}
	return NULL;
}

/* Options whose change has no effect on a conversation that has begun. */
static bool is_fixed(const struct lmi_opt *opt)
{
	static const char *const fixed[] = {"prompt", "interactive", "yes", "backend", "threads",
					    "threads-batch", "tb", "cpus", "cpu-strict", "numa",
					    "ctx", "ctx-size", "kv-type", "kv-type-k", "kv-type-v", "draft-model",
					    "device", "json", "session"};

	for (size_t i = 0; i < LMD_LEN(fixed); i++)
		if (!strcmp(opt->name, fixed[i]))
			return true;
	return false;
}

static bool is_on(const char *value)
{
	return strcmp(value, "off") != 0 && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

/* value: in the arena */
static enum lmd_status set_value(struct lmi_ctl_chat *c, struct lmi_opt_value *v,
				 const char *value, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (v->opt->type == LMI_OPT_FLAG) {
		v->i = is_on(value);
	} else if (v->opt->type == LMI_OPT_LIST) {
		v->list = lmi_arena_array(c->g->arena, 1, sizeof(*v->list));
		if (!v->list)
			return lmd_fail(err, LMD_NOMEM, "no memory for a setting");
		v->list[0] = value;
		v->n_list = *value ? 1 : 0;
	} else {
		st = lmi_opt_set(v, value, err);
	}
	if (st == LMD_OK)
		v->given = true;
	return st;
}

static enum lmd_status set_option(struct lmi_ctl_chat *c, const char *given, const char *value,
				  struct lmd_error *err)
{
	const struct lmi_opt *opt;
	struct lmi_opt_value *v, before;
	char name[64], *copy;
	enum lmd_status st;

	option_name(name, sizeof(name), given);
	v = find_option(&c->g->ctl->args, name, &opt);
	if (!v || is_fixed(opt) || !strcmp(name, "system"))
		return lmd_fail(err, LMD_INVALID, "/set %.40s: not a setting of a conversation", given);
	copy = lmi_arena_strndup(c->g->arena, value, strlen(value));
	if (!copy)
		return lmd_fail(err, LMD_NOMEM, "no memory for a setting");
	before = *v;
	st = set_value(c, v, copy, err);
	if (st == LMD_OK)
		st = lmi_ctl_generation_update(c->g, err);
	if (st != LMD_OK) {
		struct lmd_error none;

		*v = before;
		(void)lmi_ctl_generation_update(c->g, &none);
		lmd_error_prefix(err, name);
	}
	return st;
}

/* Sets how answers are shown; returns false if it is not such a name. */
static bool set_display(struct lmi_ctl_chat *c, const char *name, const char *value)
{
	bool on = is_on(value);

	if (!strcmp(name, "verbose"))
		c->verbose = on;
	else if (!strcmp(name, "quiet"))
		c->verbose = !on;
	else if (!strcmp(name, "markdown"))
		c->markdown = on;
	else if (!strcmp(name, "reasoning"))
		c->fold = !on;
	else
		return false;
	return true;
}

static void show_settings(const struct lmi_ctl_chat *c)
{
	const struct lmi_args *a = &c->g->ctl->args;

	fprintf(stderr, "verbose %s, markdown %s, reasoning %s\n", c->verbose ? "on" : "off",
		c->markdown ? "on" : "off", c->fold ? "folded" : "on");
	for (uint32_t i = 0; i < a->cmd->n_opts; i++) {
		const struct lmi_opt *o = &a->cmd->opts[i];

		if (!o->name || !lmi_arg_given(a, o->name) || is_fixed(o))
			continue;
		if (o->type == LMI_OPT_FLOAT)
			fprintf(stderr, "%s %g\n", o->name, lmi_arg_float(a, o->name));
		else if (o->type == LMI_OPT_INT || o->type == LMI_OPT_SIZE)
			fprintf(stderr, "%s %lld\n", o->name, (long long)lmi_arg_int(a, o->name));
		else if (o->type == LMI_OPT_STR || o->type == LMI_OPT_CHOICE)
			fprintf(stderr, "%s %s\n", o->name, lmi_arg_str(a, o->name));
	}
}

static enum lmd_status cmd_set(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	char name[64];
	size_t n = strcspn(rest, " =");
	const char *value = rest + n + strspn(rest + n, " =");

	if (!n) {
		show_settings(c);
		return LMD_OK;
	}
	(void)snprintf(name, sizeof(name), "%.*s", (int)n, rest);
	if (!strcmp(name, "parameter")) /* as Ollama writes it */
		return cmd_set(c, value, err);
	if (!strcmp(name, "system"))
		return lmi_ctl_messages_set_system(&c->messages, value, err);
	return set_display(c, name, value) ? LMD_OK : set_option(c, name, value, err);
}

/* ---- the other commands ---- */

static enum lmd_status cmd_system(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	const struct lmd_str *now = lmi_ctl_messages_system(&c->messages);

	if (!*rest) {
		fprintf(stderr, "%.*s\n", now ? (int)now->len : 17,
			now ? now->ptr : "no system message");
		return LMD_OK;
	}
	return lmi_ctl_messages_set_system(&c->messages, strcmp(rest, "off") ? rest : NULL, err);
}

static enum lmd_status cmd_save(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	enum lmd_status st;

	if (!*rest)
		return lmd_fail(err, LMD_INVALID, "/save FILE: a file is missing");
	st = lmi_ctl_messages_save(&c->messages, rest, lmi_arg_pos(&c->g->ctl->args, 0), err);
	if (st == LMD_OK)
		fprintf(stderr, "%u message%s saved\n", c->messages.n, c->messages.n == 1 ? "" : "s");
	return st;
}

static enum lmd_status cmd_load(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	enum lmd_status st;

	if (!*rest)
		return lmd_fail(err, LMD_INVALID, "/load FILE: a file is missing");
	st = lmi_ctl_messages_load(&c->messages, rest, err);
	if (st == LMD_OK)
		fprintf(stderr, "%u message%s loaded\n", c->messages.n, c->messages.n == 1 ? "" : "s");
	return st;
}

static enum lmd_status cmd_retry(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	uint32_t last = lmi_ctl_messages_last_question(&c->messages);

	(void)rest;
	if (last == c->messages.n)
		return lmd_fail(err, LMD_INVALID, "/retry: there is no question yet");
	lmi_ctl_messages_cut(&c->messages, last + 1);
	c->answer = true;
	return LMD_OK;
}

static enum lmd_status cmd_undo(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	uint32_t last = lmi_ctl_messages_last_question(&c->messages);
	const struct lmd_str *text;
	size_t n;

	(void)rest;
	if (last == c->messages.n)
		return lmd_fail(err, LMD_INVALID, "/undo: there is no question yet");
	text = &c->messages.v[last].content;
	n = text->len < SHOWN_MAX ? text->len : SHOWN_MAX;
	while (n < text->len && n && (text->ptr[n] & 0xc0) == 0x80)
		n--; /* to the beginning of a character */
	if (memchr(text->ptr, '\n', n))
		n = (size_t)((const char *)memchr(text->ptr, '\n', n) - text->ptr);
	fprintf(stderr, "taken back: %.*s%s\n", (int)n, text->ptr, n < text->len ? " ..." : "");
	lmi_ctl_messages_cut(&c->messages, last);
	return LMD_OK;
}

static enum lmd_status cmd_clear(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	(void)rest;
	(void)err;
	lmi_ctl_messages_cut(&c->messages, lmi_ctl_messages_system(&c->messages) ? 1 : 0);
	c->tokens.n = 0;
	lmi_ctl_chat_drop_files(c);
	fputs("a new conversation\n", stderr);
	return LMD_OK;
}

void lmi_ctl_chat_drop_files(struct lmi_ctl_chat *c)
{
	for (uint32_t i = 0; i < c->n_picture; i++)
		lmi_free((void *)(uintptr_t)c->pictures[i].data.ptr);
	c->n_picture = 0;
	c->attached.n = 0;
}

/* Does a file begin like a PNG or JPEG picture? */
static bool is_picture(const char *bytes, size_t n)
{
	return (n > 8 && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8)) ||
	       (n > 3 && !memcmp(bytes, "\xff\xd8\xff", 3));
}

/* Takes the bytes of a picture. */
static enum lmd_status attach_picture(struct lmi_ctl_chat *c, const char *path, char *own_bytes, size_t n,
				      struct lmd_error *err)
{
	if (c->n_picture == LMI_CTL_CHAT_PICTURES) {
		lmi_free(own_bytes);
		return lmd_fail(err, LMD_INVALID, "%.200s: a message has at most %d pictures", path,
				LMI_CTL_CHAT_PICTURES);
	}
	c->pictures[c->n_picture++] = (struct lmi_wire_picture){.data = {.ptr = own_bytes, .len = n}};
	fprintf(stderr, "%s (a picture, %zu bytes) goes with the next message\n", path, n);
	return LMD_OK;
}

static enum lmd_status cmd_file(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	char head[PATH_MAX + 16], *text = NULL;
	size_t n = 0;
	enum lmd_status st;

	if (!*rest)
		return lmd_fail(err, LMD_INVALID, "/file FILE: a file is missing");
	st = lmi_file_read_all(rest, ATTACHED_MAX, &text, &n, err);
	if (st == LMD_OK && is_picture(text, n))
		return attach_picture(c, rest, text, n, err);
	if (st == LMD_OK && n && memchr(text, 0, n))
		st = lmd_fail(err, LMD_INVALID, "%.200s: not a text", rest);
	(void)snprintf(head, sizeof(head), "File %s:\n```\n", rest);
	if (st == LMD_OK)
		st = lmi_text_byte_buf_append(&c->attached, head, strlen(head), err);
	if (st == LMD_OK)
		st = lmi_text_byte_buf_append(&c->attached, text, n, err);
	if (st == LMD_OK)
		st = lmi_text_byte_buf_append(&c->attached, "\n```\n\n", 6, err);
	lmi_free(text);
	if (st == LMD_OK)
		fprintf(stderr, "%s (%zu bytes) goes with the next message\n", rest, n);
	return st;
}

static enum lmd_status cmd_tools(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	const struct lmd_str *tools = &c->g->req.u.generate.tools;
	const struct lmi_opt *opt;
	struct lmi_opt_value *v;

	if (!*rest) {
		bool has = c->g->req.u.generate.has_tools;

		fprintf(stderr, "%.*s\n", has ? (int)tools->len : 8, has ? tools->ptr : "no tools");
		return LMD_OK;
	}
	if (strcmp(rest, "off") != 0)
		return set_option(c, "tools", rest, err);
	v = find_option(&c->g->ctl->args, "tools", &opt);
	if (v)
		*v = (struct lmi_opt_value){.opt = opt};
	return lmi_ctl_generation_update(c->g, err);
}

static enum lmd_status cmd_bye(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	(void)rest;
	(void)err;
	c->leave = true;
	return LMD_OK;
}

static enum lmd_status cmd_help(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err);

static const struct command {
	const char *name, *args, *doc;
	enum lmd_status (*run)(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err);
	bool needs_template;
} commands[] = {
	{"help", "", "show this list", cmd_help, false},
	{"set", "[NAME VALUE]",
	 "set temp, top_p, seed, predict and others; or on or off: verbose (tokens per second), "
	 "markdown, reasoning",
	 cmd_set, false},
	{"system", "[TEXT|off]", "set the system message, or show it", cmd_system, true},
	{"file", "FILE", "put a text file or a picture (PNG, JPEG) in front of the next message", cmd_file, true},
	{"tools", "[FILE|off]", "let the model call the tools of a JSON file", cmd_tools, true},
	{"retry", "", "answer the last message again", cmd_retry, true},
	{"undo", "", "take back the last message and its answer", cmd_undo, true},
	{"clear", "", "begin a new conversation", cmd_clear, false},
	{"save", "FILE", "save the conversation as JSON", cmd_save, true},
	{"load", "FILE", "continue a saved conversation", cmd_load, true},
	{"bye", "", "leave, as Ctrl-D does", cmd_bye, false},
	/* other spellings */
	{"?", NULL, NULL, cmd_help, false},
	{"exit", NULL, NULL, cmd_bye, false},
	{"quit", NULL, NULL, cmd_bye, false},
};

/* A line of /help, on a narrow terminal with the text below the usage. */
static void help_line(const char *usage, const char *doc, int columns)
{
	bool narrow = columns < 60;
	int indent = narrow ? 4 : 2 + HELP_USAGE + 1;

	if (narrow)
		fprintf(stderr, "  %s\n    ", usage);
	else
		fprintf(stderr, "  %-*s ", HELP_USAGE, usage);
	lmi_cli_text_wrap_to(stderr, doc, indent, indent, columns);
}

static enum lmd_status cmd_help(struct lmi_ctl_chat *c, const char *rest, struct lmd_error *err)
{
	static const struct {
		const char *keys, *doc;
	} keys[] = {{"\"\"\"", "begins and ends a message of several lines"},
		    {"Alt-Enter", "begins a new line"},
		    {"Ctrl-C", "ends an answer"},
		    {"Ctrl-D", "leaves"}};
	int columns = lmi_ctl_terminal_width();

	(void)c;
	(void)rest;
	(void)err;
	columns = columns ? columns : 80;
	for (size_t i = 0; i < LMD_LEN(commands); i++)
		if (commands[i].doc) {
			char usage[40];

			(void)snprintf(usage, sizeof(usage), "/%s %s", commands[i].name,
				       commands[i].args);
			help_line(usage, commands[i].doc, columns);
		}
	for (size_t i = 0; i < LMD_LEN(keys); i++)
		help_line(keys[i].keys, keys[i].doc, columns);
	return LMD_OK;
}

static const struct command *find_command(const char *line, size_t n)
{
	for (size_t i = 0; i < LMD_LEN(commands); i++)
		if (strlen(commands[i].name) == n && !strncmp(commands[i].name, line, n))
			return &commands[i];
	return NULL;
}

enum lmd_status lmi_ctl_chat_command(struct lmi_ctl_chat *c, const char *line,
				     struct lmd_error *err)
{
	size_t n = strcspn(line + 1, " \n");
	const struct command *cmd = find_command(line + 1, n);
	char *rest = strdup(line + 1 + n + strspn(line + 1 + n, " \n"));
	enum lmd_status st = LMD_OK;

	if (!rest)
		return lmd_fail(err, LMD_NOMEM, "no memory for a command");
	for (size_t k = strlen(rest); k && isspace((unsigned char)rest[k - 1]); k--)
		rest[k - 1] = 0;
	if (!cmd)
		st = lmd_fail(err, LMD_INVALID, "/%.*s is not a command; /help lists them",
			      (int)(n < 40 ? n : 40), line + 1);
	else if (cmd->needs_template && !c->use_template)
		st = lmd_fail(err, LMD_INVALID, "/%s needs a model with a chat template", cmd->name);
	else
		st = cmd->run(c, rest, err);
	free(rest);
	if (st == LMD_OK || st == LMD_NOMEM)
		return st;
	fprintf(stderr, "%s\n", err->text);
	*err = (struct lmd_error){0};
	return LMD_OK;
}
