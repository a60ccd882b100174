/* SPDX-License-Identifier: MIT
 *
 * llamactl debug parse: runs the answer parser, which splits an answer into content, reasoning and
 * tool calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/vocab_file.h"
#include "core/base/json_text.h"
#include "core/text/answer/parser.h"

struct show {
	bool markup;
	FILE *list; /* collects the events as one list, for --json; NULL: prints each on a line of
		     * standard output */
	bool any;   /* at least one event was written */
	struct lmd_error *err;
	enum lmd_status st;
};

static const char *const words[] = {
	[LMI_ANSWER_CONTENT] = "content", [LMI_ANSWER_REASONING] = "reasoning",
	[LMI_ANSWER_CALL] = "call",       [LMI_ANSWER_ARGS] = "arguments",
	[LMI_ANSWER_CALL_END] = "end",    [LMI_ANSWER_MARKUP] = "markup",
};

/* A line of JSON for an event. */
static void show(void *arg, const struct lmi_answer_event *o)
{
	struct show *s = arg;
	struct lmi_json_text j = {0};
	struct lmd_str text = o->kind == LMI_ANSWER_MARKUP ? o->raw : o->text;

	if (s->st != LMD_OK || (o->kind == LMI_ANSWER_MARKUP && !s->markup))
		return;
	lmi_json_text_object(&j);
	lmi_json_text_key(&j, words[o->kind]);
	if (o->kind == LMI_ANSWER_CALL_END)
		lmi_json_text_bool(&j, o->complete);
	else
		lmi_json_text_strn(&j, text.ptr, text.len);
	if (o->id.ptr) {
		lmi_json_text_key(&j, "id");
		lmi_json_text_strn(&j, o->id.ptr, o->id.len);
	}
	lmi_json_text_end(&j);
	s->st = lmi_json_text_finish(&j, s->err);
	if (s->st == LMD_OK && s->list)
		fprintf(s->list, "%s\n  %s", s->any ? "," : "", j.text);
	else if (s->st == LMD_OK)
		printf("%s\n", j.text);
	else
		lmd_error_prefix(s->err, "text that is not valid UTF-8");
	lmi_json_text_fini(&j);
	s->any = true;
}

static enum lmd_status parse(struct lmi_ctl *ctl, const struct lmi_answer_format *f, FILE *list,
			     struct lmd_error *err)
{
	size_t chunk = (size_t)lmi_arg_int(&ctl->args, "chunk"), n = 0;
	struct show s = {
		.markup = lmi_arg_flag(&ctl->args, "markup"), .list = list, .err = err};
	struct lmi_answer_parser *p;
	char *in = NULL;
	enum lmd_status st = lmi_answer_parser_create(&p, f, show, &s, err);

	if (st != LMD_OK)
		return st;
	if (lmi_arg_flag(&ctl->args, "thinks"))
		lmi_answer_parser_start_in_reasoning(p);
	st = lmi_ctl_read_stdin(&in, &n, err);
	for (size_t at = 0; at < n && st == LMD_OK && s.st == LMD_OK;) {
		size_t k = chunk && chunk < n - at ? chunk : n - at;

		st = lmi_answer_parser_feed(p, in + at, k, err);
		at += k;
	}
	if (st == LMD_OK)
		lmi_answer_parser_finish(p);
	lmi_answer_parser_destroy(p);
	free(in);
	return st == LMD_OK ? s.st : st;
}

/* Prints the events as one list, after all of them succeeded. */
static enum lmd_status parse_json(struct lmi_ctl *ctl, const struct lmi_answer_format *f,
				  struct lmd_error *err)
{
	char *text = NULL;
	size_t n = 0;
	FILE *list = open_memstream(&text, &n);
	enum lmd_status st;
	bool whole;

	if (!list)
		return lmd_fail(err, LMD_NOMEM, "no memory for the answer");
	st = parse(ctl, f, list, err);
	whole = !ferror(list);
	if ((fclose(list) || !whole) && st == LMD_OK)
		st = lmd_fail(err, LMD_NOMEM, "no memory for the answer");
	if (st == LMD_OK)
		printf("[%s%s]\n", text, n ? "\n" : "");
	free(text);
	return st;
}

static void list_formats(bool json)
{
	const char *name;
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	if (json)
		lmi_ctl_json_array(&j, NULL);
	for (uint32_t i = 0; (name = lmi_answer_format_name_at(i)); i++) {
		if (json)
			lmi_ctl_json_str(&j, NULL, name);
		else
			puts(name);
	}
	if (!json)
		return;
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *name = lmi_arg_pos(&ctl->args, 0);
	bool json = lmi_arg_flag(&ctl->args, "json");
	const struct lmi_answer_format *f;

	if (lmi_arg_flag(&ctl->args, "list")) {
		list_formats(json);
		return LMD_OK;
	}
	if (!name)
		return lmi_ctl_usage(ctl, err,
				     "FORMAT is missing; --list prints the known formats");
	f = lmi_answer_format_find((struct lmd_str){.ptr = name, .len = strlen(name)});
	if (!f)
		return lmd_fail(err, LMD_NOTFOUND, "format '%.60s' is unknown; --list prints the "
						   "known formats",
				name);
	return json ? parse_json(ctl, f, err) : parse(ctl, f, NULL, err);
}

static const struct lmi_opt opts[] = {
	{.name = "list", .type = LMI_OPT_FLAG, .doc = "Print the names of the formats."},
	{.name = "chunk",
	 .type = LMI_OPT_INT,
	 .value = "N",
	 .def = "0",
	 .min = 0,
	 .max = 1 << 30,
	 .doc = "Feed the parser N bytes at a time, as if they had just arrived; 0 means all at "
		"once."},
	{.name = "thinks",
	 .type = LMI_OPT_FLAG,
	 .doc = "The answer begins inside its reasoning, as after a prompt that opened it."},
	{.name = "markup", .type = LMI_OPT_FLAG, .doc = "Print markers as well."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_debug_parse = {
	.name = "debug parse",
	.args = "[FORMAT]",
	.brief = "Split an answer into content, reasoning and tool calls",
	.doc = "Reads the text of an answer from standard input, in the format of a model family "
	       "(hermes, llama3, mistral, gpt-oss, ...), and prints one JSON object per line: "
	       "{\"content\": ...}, {\"reasoning\": ...}, {\"call\": NAME}, {\"arguments\": ...} "
	       "with pieces of JSON, and {\"end\": true} when a call is complete. With --json "
	       "the objects form one list.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
