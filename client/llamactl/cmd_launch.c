/* SPDX-License-Identifier: MIT
 *
 * llamactl launch: starts a coding agent with the settings that make it use this daemon. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/llamactl/http_url.h"
#include "client/llamactl/remote.h"
#include "core/base/alloc.h"
#include "core/base/printable.h"

#define MAX_WORDS 256
#define MAX_ENV	  4

/* A program. In all texts, {url}, {model} and {key} stand for the values of this daemon. */
struct tool {
	const char *name, *install;
	const char *env[MAX_ENV + 1]; /* NAME=VALUE, NULL-terminated */
	const char *argv[10];	      /* NULL-terminated */
};

static const struct tool tools[] = {
	{.name = "codex",
	 .install = "npm install -g @openai/codex",
	 .env = {"LLAMAD_KEY={key}"},
	 .argv = {"codex", "-m", "{model}", "-c", "model_provider=llamad", "-c",
		  "model_providers.llamad={name='llamad', base_url='{url}/v1', "
		  "wire_api='responses', env_key='LLAMAD_KEY'}"}},
	{.name = "claude",
	 .install = "npm install -g @anthropic-ai/claude-code",
	 .env = {"ANTHROPIC_BASE_URL={url}", "ANTHROPIC_AUTH_TOKEN={key}",
		 "ANTHROPIC_DEFAULT_HAIKU_MODEL={model}",
		 "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
	 .argv = {"claude", "--model", "{model}"}},
	{.name = "opencode",
	 .install = "npm install -g opencode-ai",
	 .env = {"LLAMAD_KEY={key}",
		 "OPENCODE_CONFIG_CONTENT={\"model\": \"llamad/{model}\", \"small_model\": "
		 "\"llamad/{model}\", \"provider\": {\"llamad\": {\"npm\": "
		 "\"@ai-sdk/openai-compatible\", \"options\": {\"baseURL\": \"{url}/v1\", \"apiKey\": "
		 "\"{env:LLAMAD_KEY}\"}, \"models\": {\"{model}\": {}}}}}"},
	 .argv = {"opencode"}},
	{.name = "aider",
	 .install = "pip install aider-chat",
	 .env = {"OPENAI_API_KEY={key}", "LITELLM_LOCAL_MODEL_COST_MAP=True"},
	 .argv = {"aider", "--model", "openai/{model}", "--openai-api-base", "{url}/v1",
		  "--no-show-model-warnings"}},
};

struct values {
	const char *url, *model, *key;
};

/* ---- texts ---- */

static const char *value_of(const struct values *v, const char *p, size_t *n)
{
	static const char *const names[] = {"{url}", "{model}", "{key}"};
	const char *const values[] = {v->url, v->model, v->key};

	for (size_t i = 0; i < LMD_LEN(names); i++)
		if (!strncmp(p, names[i], strlen(names[i]))) {
			*n = strlen(names[i]);
			return values[i];
		}
	return NULL;
}

/* Replaces the placeholders; NULL: no memory. On the heap (lmi_free). */
static char *fill(const char *text, const struct values *v)
{
	size_t max = strlen(text) + 8 * (strlen(v->url) + strlen(v->model) + strlen(v->key)) + 1;
	char *out = lmi_alloc(max, 1), *to = out;

	for (const char *p = text; out && *p;) {
		size_t n = 0;
		const char *value = value_of(v, p, &n);

		if (value) {
			to = stpcpy(to, value);
			p += n;
		} else {
			*to++ = *p++;
		}
	}
	if (out)
		*to = 0;
	return out;
}

/* Prints a word as a shell reads it. */
static void print_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./:=@,+";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (const char *p = word; *p; p++)
		if (*p == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*p);
	putchar('\'');
}

/* ---- the daemon ---- */

/* Chooses the model of --model, or else the only one that is loaded, or registered. */
static enum lmd_status choose_model(struct lmi_ctl *ctl, char out[200], struct lmd_error *err)
{
	const char *given = lmi_arg_str(&ctl->args, "model");
	const char *loaded = NULL, *any = NULL;
	unsigned n_loaded = 0, n_any = 0;
	json_t *reply, *row;
	size_t i;
	enum lmd_status st = lmi_ctl_remote_call(
		ctl, "models", given ? json_pack("{s:s}", "model", given) : NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	json_array_foreach(json_object_get(reply, "models"), i, row)
	{
		const char *state = json_string_value(json_object_get(row, "state"));

		any = json_string_value(json_object_get(row, "name"));
		n_any++;
		if (state && !strcmp(state, "ready")) {
			loaded = any;
			n_loaded++;
		}
	}
	any = given ? given : n_loaded == 1 ? loaded : n_any == 1 ? any : NULL;
	if (any)
		(void)snprintf(out, 200, "%s", any);
	else if (!n_any)
		st = lmd_fail(err, LMD_NOTFOUND,
			      "the daemon has no models: fetch one with `llamactl pull`");
	else
		st = lmi_ctl_usage(ctl, err, "the daemon has %u models: choose one with --model NAME",
				   n_any);
	json_decref(reply);
	return st;
}

/* Finds where the daemon serves HTTP over TCP. */
static enum lmd_status find_url(struct lmi_ctl *ctl, const char *tool, char *out, size_t size,
				struct lmd_error *err)
{
	struct lmd_server server = {.struct_size = sizeof(server)};
	const char *address = NULL, *path = NULL;
	json_t *reply, *row;
	size_t i;
	enum lmd_status st = lmi_ctl_remote_call(ctl, "status", NULL, &reply, err);

	if (st != LMD_OK)
		return st;
	json_array_foreach(json_object_get(reply, "http"), i, row)
	{
		const char *text = json_string_value(row);

		*(strncmp(text, "unix:", 5) ? &address : &path) = text;
		if (address)
			break;
	}
	lmd_client_server(ctl->client, &server);
	if (!address)
		st = lmd_fail(err, LMD_UNSUPPORTED,
			      "%s needs HTTP over TCP, and the daemon serves HTTP %s%s: start llamad with --http "
			      "127.0.0.1:8080, or set the key http",
			      tool, path ? "only at " : "nowhere", path ? path : "");
	else if (strncmp(server.url, "ipc://", 6) != 0)
		st = lmd_fail(err, LMD_INVALID,
			      "the daemon at %s is on another machine, where it serves HTTP at %s: give --url URL "
			      "with an address that this machine reaches",
			      server.url, address);
	else
		lmi_ctl_http_url_of(out, size, address);
	json_decref(reply);
	return st;
}

/* ---- the program ---- */

struct program {
	char *env[MAX_ENV];
	char *argv[MAX_WORDS + 1];
	unsigned n_env, n_word;
};

static void program_fini(struct program *p)
{
	for (unsigned i = 0; i < p->n_env; i++)
		lmi_free(p->env[i]);
	for (unsigned i = 0; i < p->n_word; i++)
		lmi_free(p->argv[i]);
}

static enum lmd_status add_word(struct program *p, const char *text, const struct values *v,
				struct lmd_error *err)
{
	if (p->n_word == MAX_WORDS)
		return lmd_fail(err, LMD_INVALID, "more than %d arguments", MAX_WORDS);
	p->argv[p->n_word] = fill(text, v);
	if (!p->argv[p->n_word])
		return lmd_fail(err, LMD_NOMEM, "no memory for a command line");
	p->n_word++;
	return LMD_OK;
}

static enum lmd_status prepare(struct program *p, const struct tool *t, const struct values *v,
			       const struct lmi_args *a, struct lmd_error *err)
{
	static const struct values none = {"{url}", "{model}", "{key}"};
	enum lmd_status st = LMD_OK;

	for (unsigned i = 0; t->env[i] && st == LMD_OK; i++) {
		p->env[p->n_env] = fill(t->env[i], v);
		if (p->env[p->n_env])
			p->n_env++;
		else
			st = lmd_fail(err, LMD_NOMEM, "no memory for the environment");
	}
	for (unsigned i = 0; t->argv[i] && st == LMD_OK; i++)
		st = add_word(p, t->argv[i], v, err);
	for (uint32_t i = 1; i < a->n_pos && st == LMD_OK; i++)
		st = add_word(p, lmi_arg_pos(a, i), &none, err); /* as the user typed it */
	return st;
}

static void print_program(const struct program *p)
{
	for (unsigned i = 0; i < p->n_env; i++) {
		size_t n = strcspn(p->env[i], "=");

		printf("%.*s=", (int)n, p->env[i]);
		print_word(p->env[i] + n + 1);
		putchar(' ');
	}
	for (unsigned i = 0; i < p->n_word; i++) {
		if (i)
			putchar(' ');
		print_word(p->argv[i]);
	}
	putchar('\n');
}

/* Becomes the program. */
static enum lmd_status start(const struct program *p, const struct tool *t, struct lmd_error *err)
{
	for (unsigned i = 0; i < p->n_env; i++) {
		char name[64];
		size_t n = strcspn(p->env[i], "=");

		(void)snprintf(name, sizeof(name), "%.*s", (int)n, p->env[i]);
		if (setenv(name, p->env[i] + n + 1, 1))
			return lmd_fail(err, LMD_NOMEM, "no memory for the environment");
	}
	(void)fflush(NULL);
	(void)execvp(p->argv[0], p->argv);
	if (errno == ENOENT)
		return lmd_fail(err, LMD_NOTFOUND, "%s is not installed: %s", t->argv[0], t->install);
	return lmd_fail(err, LMD_IO, "%s: cannot be run: %s", t->argv[0], strerror(errno));
}

static const struct tool *find_tool(const char *name)
{
	for (size_t i = 0; i < LMD_LEN(tools); i++)
		if (!strcmp(tools[i].name, name))
			return &tools[i];
	return NULL;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *word = lmi_arg_pos(&ctl->args, 0), *key = getenv("LLAMAD_KEY");
	const struct tool *t = find_tool(word);
	struct program p = {.n_env = 0};
	struct values v = {.url = lmi_arg_str(&ctl->args, "url"), .key = key && *key ? key : "none"};
	char model[200], url[300];
	enum lmd_status st;

	if (!t)
		return lmi_ctl_usage(ctl, err,
				     "'%.60s' is not a program that can be launched: codex, claude, "
				     "opencode or aider",
				     word);
	(void)snprintf(url, sizeof(url), "%s", v.url ? v.url : "");
	url[strlen(url) - (*url && url[strlen(url) - 1] == '/')] = 0;
	st = choose_model(ctl, model, err);
	if (st == LMD_OK && !v.url)
		st = find_url(ctl, t->name, url, sizeof(url), err);
	v.url = url;
	v.model = model;
	if (st == LMD_OK)
		st = prepare(&p, t, &v, &ctl->args, err);
	if (st == LMD_OK && lmi_arg_flag(&ctl->args, "print"))
		print_program(&p);
	else if (st == LMD_OK)
		st = start(&p, t, err);
	program_fini(&p);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "model",
	 .letter = 'm',
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .def_text = "the only one that is loaded, or registered",
	 .doc = "Model of the daemon that the program uses."},
	{.name = "url",
	 .type = LMI_OPT_STR,
	 .value = "URL",
	 .def_text = "the daemon's first address for HTTP over TCP",
	 .doc = "Where the daemon serves HTTP, without /v1."},
	{.name = "print",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print the command line for a shell, with the key in it, instead of starting the "
		"program."},
};

const struct lmi_cli_cmd lmi_ctl_cmd_launch = {
	.name = "launch",
	.args = "TOOL [ARG]...",
	.brief = "Start a coding agent that uses this daemon",
	.doc = "TOOL is codex, claude, opencode or aider, which must be installed. It is started with "
	       "the settings that make it use a model of this daemon over HTTP; its own files are "
	       "not changed. Arguments after -- are passed on:\n\n    llamactl launch codex -- exec "
	       "\"Write a test for main.c\"\n\nThe key of the environment variable LLAMAD_KEY is "
	       "passed to it.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
