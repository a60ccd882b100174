/* SPDX-License-Identifier: MIT */
#include "client/llamactl/answer_printer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/json_text.h"

struct lmi_ctl_printed_call {
	struct lmi_text_byte_buf name, id, args;
	bool complete;
};

bool lmi_ctl_answer_printer_wants_parsing(const struct lmi_args *a,
					  const struct lmi_ctl_chat_args *chat)
{
	/* an answer constrained by a grammar is printed as it is */
	bool bound = (chat->grammar.ptr || chat->schema.ptr) && !chat->tools.ptr;

	return !lmi_arg_flag(a, "raw") && !lmi_arg_flag(a, "special") && !bound;
}

enum lmd_status lmi_ctl_answer_printer_init(struct lmi_ctl_answer_printer *s, struct lmi_ctl *ctl,
					    struct lmd_error *err)
{
	bool show = lmi_arg_flag(&ctl->args, "show-reasoning") ||
		    lmi_arg_flag(&ctl->args, "show-thinking");
	bool hide = lmi_arg_flag(&ctl->args, "hide-reasoning") ||
		    lmi_arg_flag(&ctl->args, "hide-thinking");

	if (show && hide)
		return lmi_ctl_usage(ctl, err,
				     "--show-reasoning and --hide-reasoning exclude each other");
	s->dim = isatty(STDOUT_FILENO);
	s->show_reasoning = show || (!hide && s->dim);
	return LMD_OK;
}

void lmi_ctl_answer_printer_fini(struct lmi_ctl_answer_printer *s)
{
	lmi_text_byte_buf_fini(&s->text);
	lmi_text_byte_buf_fini(&s->reasoning);
	for (uint32_t i = 0; i < s->n_call; i++) {
		lmi_text_byte_buf_fini(&s->calls[i].name);
		lmi_text_byte_buf_fini(&s->calls[i].id);
		lmi_text_byte_buf_fini(&s->calls[i].args);
	}
	lmi_free(s->calls);
	s->calls = NULL;
	s->n_call = 0;
}

/* ---- writing ---- */

static enum lmd_status put(struct lmi_ctl_answer_printer *s, const char *p, size_t n,
			   struct lmd_error *err)
{
	if (!n)
		return LMD_OK;
	s->last_byte = p[n - 1];
	/* flush, because a pipe or a terminal waits for the text */
	if (fwrite(p, 1, n, stdout) != n || fflush(stdout))
		return lmd_fail(err, LMD_IO, "standard output: %s", strerror(errno));
	return LMD_OK;
}

/* Separates reasoning and content by an empty line. */
static enum lmd_status switch_section(struct lmi_ctl_answer_printer *s, bool reasoning,
				      struct lmd_error *err)
{
	static const char dim[] = "\033[2m", plain[] = "\033[0m";
	enum lmd_status st = LMD_OK;

	if (s->in_reasoning == reasoning)
		return LMD_OK;
	s->in_reasoning = reasoning;
	if (!reasoning) {
		fputs(s->dim ? plain : "", stdout);
		return put(s, "\n\n", 2, err);
	}
	if (s->last_byte && s->last_byte != '\n')
		st = put(s, "\n", 1, err);
	fputs(s->dim ? dim : "", stdout);
	return st;
}

enum lmd_status lmi_ctl_answer_printer_text(struct lmi_ctl_answer_printer *s, const char *p,
					    size_t n, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (!n)
		return LMD_OK;
	if (s->json || s->collect)
		st = lmi_text_byte_buf_append(&s->text, p, n, err);
	if (st == LMD_OK && !s->json)
		st = switch_section(s, false, err);
	return st == LMD_OK && !s->json ? put(s, p, n, err) : st;
}

enum lmd_status lmi_ctl_answer_printer_reasoning(struct lmi_ctl_answer_printer *s, const char *p,
						 size_t n, struct lmd_error *err)
{
	enum lmd_status st;

	if (s->json)
		return lmi_text_byte_buf_append(&s->reasoning, p, n, err);
	if (!s->show_reasoning || !n)
		return LMD_OK;
	st = switch_section(s, true, err);
	return st == LMD_OK ? put(s, p, n, err) : st;
}

/* ---- calls ---- */

enum lmd_status lmi_ctl_answer_printer_call(struct lmi_ctl_answer_printer *s, struct lmd_str name,
					    struct lmd_str id, struct lmd_error *err)
{
	struct lmi_ctl_printed_call *v = lmi_realloc(s->calls, s->n_call + 1, sizeof(*v));
	enum lmd_status st;

	if (!v)
		return lmd_fail(err, LMD_NOMEM, "no memory for the answer");
	s->calls = v;
	v += s->n_call++;
	*v = (struct lmi_ctl_printed_call){.complete = false};
	st = lmi_text_byte_buf_append(&v->name, name.ptr, name.len, err);
	return st == LMD_OK && id.len ? lmi_text_byte_buf_append(&v->id, id.ptr, id.len, err) : st;
}

enum lmd_status lmi_ctl_answer_printer_args(struct lmi_ctl_answer_printer *s, const char *p,
					    size_t n, struct lmd_error *err)
{
	if (!s->n_call || !n)
		return LMD_OK;
	return lmi_text_byte_buf_append(&s->calls[s->n_call - 1].args, p, n, err);
}

/* Writes the arguments as JSON or, if they are not valid JSON, as a string. */
static void call_json(const struct lmi_ctl_printed_call *c, struct lmi_ctl_json *j)
{
	lmi_ctl_json_object(j, NULL);
	lmi_ctl_json_strn(j, "name", c->name.p ? c->name.p : "", c->name.n);
	if (c->id.n)
		lmi_ctl_json_strn(j, "id", c->id.p, c->id.n);
	lmi_ctl_json_strn(j, "arguments", c->args.p ? c->args.p : "", c->args.n);
	lmi_ctl_json_bool(j, "complete", c->complete);
	lmi_ctl_json_end(j);
}

enum lmd_status lmi_ctl_answer_printer_call_end(struct lmi_ctl_answer_printer *s, bool complete,
						struct lmd_error *err)
{
	struct lmi_json_text name = {0};
	struct lmi_ctl_printed_call *c;
	enum lmd_status st;

	if (!s->n_call)
		return LMD_OK;
	c = &s->calls[s->n_call - 1];
	c->complete = complete;
	if (s->json)
		return LMD_OK;
	st = switch_section(s, false, err);
	if (st == LMD_OK && s->last_byte && s->last_byte != '\n')
		st = put(s, "\n", 1, err);
	/* {"name":"f","arguments":{...}}: the arguments are JSON, if they are complete */
	lmi_json_text_object(&name);
	lmi_json_text_key(&name, "name");
	lmi_json_text_strn(&name, c->name.p, c->name.n);
	lmi_json_text_end(&name);
	if (st == LMD_OK)
		st = lmi_json_text_finish(&name, err);
	if (st == LMD_OK)
		st = put(s, name.text, strlen(name.text) - 1, err);
	if (st == LMD_OK)
		st = put(s, ",\"arguments\":", 13, err);
	if (st == LMD_OK)
		st = put(s, c->args.p, c->args.n, err);
	lmi_json_text_fini(&name);
	if (st == LMD_OK)
		st = put(s, "}", 1, err);
	return st == LMD_OK ? put(s, complete ? "\n" : " (not complete)\n", complete ? 1 : 16, err)
			    : st;
}

/* ---- the end ---- */

void lmi_ctl_answer_printer_end_line(struct lmi_ctl_answer_printer *s, enum lmd_status st)
{
	if (s->json)
		return;
	if (s->in_reasoning && s->dim)
		fputs("\033[0m", stdout);
	if (s->last_byte != '\n' && (s->last_byte || st == LMD_OK))
		putchar('\n');
	(void)fflush(stdout); /* an error is reported when the program ends */
}

void lmi_ctl_answer_printer_json(const struct lmi_ctl_answer_printer *s, struct lmi_ctl_json *j)
{
	lmi_ctl_json_strn(j, "text", s->text.p ? s->text.p : "", s->text.n);
	if (s->reasoning.n)
		lmi_ctl_json_strn(j, "thinking", s->reasoning.p, s->reasoning.n);
	if (!s->n_call)
		return;
	lmi_ctl_json_array(j, "tool_calls");
	for (uint32_t i = 0; i < s->n_call; i++)
		call_json(&s->calls[i], j);
	lmi_ctl_json_end(j);
}
