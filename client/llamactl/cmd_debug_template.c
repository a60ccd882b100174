/* SPDX-License-Identifier: MIT
 *
 * llamactl debug template: renders a chat template with given variables. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/checkpoint/open.h"
#include "core/text/chat/chat.h"
#include "core/text/answer/parser.h"
#include "core/jinja/template.h"
#include "llamad/attr.h"

/* The largest file of variables. */
#define VARS_MAX (256u << 20)

/* The template to render: the text of a file, or the template of a model. */
struct source {
	struct lmi_model *model;
	char *text;
	struct lmd_str template;
};

static struct lmd_str str(const char *s)
{
	return (struct lmd_str){.ptr = s, .len = s ? strlen(s) : 0};
}

/* Reads a template file; if there is no such file, a built-in template of that name. */
static enum lmd_status open_text(struct source *s, const char *path, struct lmd_error *err)
{
	enum lmd_status st =
		lmi_file_read_all(path, LMI_JINJA_MAX, &s->text, &s->template.len, err);

	s->template.ptr = s->text;
	if (st == LMD_NOTFOUND &&
	    lmi_chat_find_template(&s->template, NULL, str(path), NULL) == LMD_OK)
		return LMD_OK;
	return st;
}

static enum lmd_status source_open(struct lmi_ctl *ctl, struct source *s, const char *path,
				   const char *variant, struct lmd_error *err)
{
	enum lmd_status st;

	if (!lmi_ctl_is_model(ctl, path))
		return open_text(s, path, err);
	st = lmi_ctl_open_model(ctl, &s->model, path, LMI_OPEN_HEADER_ONLY, err);
	if (st != LMD_OK)
		return st;
	st = lmi_chat_find_template(&s->template, lmi_model_view(s->model), str(variant), err);
	if (st != LMD_OK)
		lmd_error_prefix(err, path);
	return st;
}

static void list(bool json)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	if (json)
		lmi_ctl_json_array(&j, NULL);
	for (unsigned i = 0; i < lmi_chat_builtins_n; i++) {
		const char *name = lmi_chat_builtins[i].name;

		if (json)
			lmi_ctl_json_strn(&j, NULL, name, strlen(name));
		else
			puts(name);
	}
	if (!json)
		return;
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static void source_close(struct source *s)
{
	lmi_model_close(s->model);
	lmi_free(s->text);
}

static enum lmd_status read_vars(const char *path, struct lmd_arena *arena,
				 struct lmi_jinja_value *out, struct lmd_error *err)
{
	char *text = NULL;
	size_t n = 0;
	json_error_t je;
	json_t *j;
	enum lmd_status st = lmi_file_read_all(path, VARS_MAX, &text, &n, err);

	if (st != LMD_OK)
		return st;
	j = json_loadb(text, n, JSON_ALLOW_NUL, &je);
	lmi_free(text);
	if (!j)
		return lmd_fail(err, LMD_INVALID, "%s: not JSON: %.200s in line %d", path, je.text,
				je.line);
	if (json_is_object(j)) {
		st = lmi_jinja_tvalue_from_json(j, arena, out, err);
		if (st != LMD_OK)
			lmd_error_prefix(err, path);
	} else {
		st = lmd_fail(err, LMD_INVALID, "%s: the variables are not a JSON object", path);
	}
	json_decref(j);
	return st;
}

/* The time of --now, or the current time. */
static enum lmd_status read_now(struct lmi_ctl *ctl, struct tm *out, struct lmd_error *err)
{
	const char *text = lmi_arg_str(&ctl->args, "now"), *end;
	time_t now = time(NULL);

	if (!text) {
		(void)localtime_r(&now, out); /* fails for years beyond int alone */
		return LMD_OK;
	}
	memset(out, 0, sizeof(*out));
	out->tm_isdst = -1;
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", out);
	if (!end || *end)
		return lmi_ctl_usage(ctl, err,
				     "--now: \"%.60s\" is not a time such as 2026-09-28T12:34:56",
				     text);
	return LMD_OK;
}

static void print_json(const struct lmi_jinja_output *out)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_strn(&j, "text", out->text, out->bytes);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status render(struct lmi_ctl *ctl, const struct source *s,
			      struct lmi_jinja_input *in, struct lmd_error *err)
{
	const char *path = lmi_arg_pos(&ctl->args, 0);
	struct lmi_jinja_output out = {0};
	struct lmi_jinja *t;
	enum lmd_status st = lmi_jinja_parse(&t, s->template.ptr, s->template.len, err);

	if (st != LMD_OK) {
		lmd_error_prefix(err, path);
		return st;
	}
	st = lmi_jinja_render(t, in, &out, err);
	if (st == LMD_OK && lmi_arg_flag(&ctl->args, "json"))
		print_json(&out);
	else if (st == LMD_OK)
		(void)fwrite(out.text, 1, out.bytes, stdout); /* the stream keeps its error */
	else
		lmd_error_prefix(err, path);
	lmi_jinja_output_fini(&out);
	lmi_jinja_destroy(t);
	return st;
}

static enum lmd_status render_with(struct lmi_ctl *ctl, const struct source *s, const char *input,
				   struct lmd_arena *arena, struct lmi_jinja_input *in,
				   struct lmd_error *err)
{
	struct lmi_jinja_value vars = {.kind = LMI_JINJA_T_DICT};
	enum lmd_status st = input ? read_vars(input, arena, &vars, err) : LMD_OK;

	in->vars = &vars;
	return st == LMD_OK ? render(ctl, s, in, err) : st;
}

/* Prints what the template can express, and the format of answers that its markers belong to. */
static enum lmd_status print_caps(const struct source *s, const char *path, struct lmd_error *err)
{
	struct lmi_jinja *t;
	struct lmi_ctl_json j;
	uint32_t caps;
	enum lmd_status st = lmi_jinja_parse(&t, s->template.ptr, s->template.len, err);

	if (st != LMD_OK) {
		lmd_error_prefix(err, path);
		return st;
	}
	st = lmi_chat_caps(t, &caps, err);
	lmi_jinja_destroy(t);
	if (st != LMD_OK)
		return st;
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	for (uint32_t k = 0; k < LMI_CHAT_N_CAP; k++)
		lmi_ctl_json_bool(&j, lmi_chat_cap_name((enum lmi_chat_cap)k), caps >> k & 1);
	lmi_ctl_json_str(&j, "answers",
			 lmi_answer_format_name(lmi_answer_format_detect(s->template)));
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
	return LMD_OK;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *input = lmi_arg_str(&ctl->args, "input");
	struct lmd_arena *arena = lmi_arena_create(0);
	struct lmi_jinja_input in = {.n_vars = 1};
	struct source s = {0};
	enum lmd_status st;

	if (lmi_arg_flag(&ctl->args, "list")) {
		lmi_arena_destroy(arena);
		list(lmi_arg_flag(&ctl->args, "json"));
		return LMD_OK;
	}
	if (!lmi_arg_pos(&ctl->args, 0)) {
		lmi_arena_destroy(arena);
		return lmi_ctl_usage(ctl, err,
				     "FILE is missing; --list prints the built-in "
				     "templates");
	}
	if (!arena)
		return lmd_fail(err, LMD_NOMEM, "no memory for variables");
	st = read_now(ctl, &in.now, err);
	if (st == LMD_OK)
		st = source_open(ctl, &s, lmi_arg_pos(&ctl->args, 0),
				 lmi_arg_str(&ctl->args, "variant"), err);
	if (st == LMD_OK && lmi_arg_flag(&ctl->args, "caps"))
		st = print_caps(&s, lmi_arg_pos(&ctl->args, 0), err);
	else if (st == LMD_OK)
		st = render_with(ctl, &s, input, arena, &in, err);
	source_close(&s);
	lmi_arena_destroy(arena);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "list", .type = LMI_OPT_FLAG, .doc = "Print the names of the built-in templates."},
	{.name = "caps",
	 .type = LMI_OPT_FLAG,
	 .doc = "Print as JSON what the template can express, determined by rendering small "
		"conversations, and the format of its model's answers (see debug parse)."},
	{.name = "variant",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .doc = "Variant of the model's template, such as tool_use, or a built-in template."},
	{.name = "input",
	 .type = LMI_OPT_STR,
	 .value = "FILE",
	 .def_text = "no variables",
	 .doc = "File with the variables as a JSON object."},
	{.name = "now",
	 .type = LMI_OPT_STR,
	 .value = "TIME",
	 .def_text = "the current time",
	 .doc = "Time that strftime_now returns, such as 2026-09-28T12:34:56."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_debug_template = {
	.name = "debug template",
	.args = "[FILE]",
	.brief = "Render a chat template",
	.doc = "FILE is a template, a model file (whose own template is used), or the name of a "
	       "built-in template. The rendered text goes to standard output with nothing added; "
	       "if the template raises an error, its text is the error message. With --json: an "
	       "object with text, or with --list a list of names.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
