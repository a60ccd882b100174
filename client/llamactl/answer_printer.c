/* SPDX-License-Identifier: MIT */
#include "client/llamactl/answer_printer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/llamactl/remote.h"
#include "client/llamactl/visible_text.h"
#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/json_text.h"

#define WRAP_MIN 20 /* columns of a terminal on which lines are broken between words */

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 * LMI_NS_PER_MS + (uint64_t)t.tv_nsec;
}

struct lmi_ctl_printed_call {
	struct lmi_text_byte_buf name, id, args;
	bool complete;
};

bool lmi_ctl_has_styles(void)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && (!no_color || !*no_color) && term && strcmp(term, "dumb") != 0;
}

bool lmi_ctl_answer_printer_wants_parsing(const struct lmi_args *a,
					  const struct lmi_ctl_chat_args *chat)
{
	/* an answer constrained by a grammar is printed as it is */
	bool bound = (chat->grammar.ptr || chat->schema.ptr) && !chat->tools.ptr;

	return !lmi_arg_flag(a, "raw") && !lmi_arg_flag(a, "special") && !bound;
}

/* Takes over the width of the terminal, which may have changed since the last line. */
static void take_width(struct lmi_ctl_answer_printer *s)
{
	int columns = s->markdown ? lmi_ctl_terminal_width() : 0;

	s->wrap.columns = columns < WRAP_MIN ? 0 : (unsigned)columns;
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
	s->dim = lmi_ctl_has_styles();
	s->terminal = isatty(STDOUT_FILENO) != 0;
	s->show_reasoning = show || (!hide && isatty(STDOUT_FILENO));
	s->fold = s->fold && !show;
	take_width(s);
	return LMD_OK;
}

void lmi_ctl_answer_printer_fini(struct lmi_ctl_answer_printer *s)
{
	lmi_text_byte_buf_fini(&s->text);
	lmi_text_byte_buf_fini(&s->reasoning);
	lmi_text_byte_buf_fini(&s->shown);
	lmi_text_byte_buf_fini(&s->plain);
	lmi_text_byte_buf_fini(&s->wrapped);
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

static enum lmd_status write_out(const char *p, size_t n, struct lmd_error *err)
{
	/* flush, because a pipe or a terminal waits for the text */
	if (fwrite(p, 1, n, stdout) != n || fflush(stdout))
		return lmd_fail(err, LMD_IO, "standard output: %s", strerror(errno));
	return LMD_OK;
}

/* Replaces a text by what a terminal may get of it; it is valid until the next call. */
static enum lmd_status make_visible(struct lmi_ctl_answer_printer *s, const char **p, size_t *n,
				    struct lmd_error *err)
{
	enum lmd_status st;

	if (!s->terminal)
		return LMD_OK;
	s->plain.n = 0;
	st = lmi_ctl_visible_text(&s->plain, &s->last_plain, *p, *n, err);
	*p = s->plain.p;
	*n = s->plain.n;
	return st;
}

static enum lmd_status put(struct lmi_ctl_answer_printer *s, const char *p, size_t n,
			   struct lmd_error *err)
{
	enum lmd_status st = make_visible(s, &p, &n, err);

	if (st != LMD_OK || !n)
		return st;
	s->last_byte = p[n - 1];
	return write_out(p, n, err);
}

/* Prints what is in `shown`; lines of code are not broken between words. */
static enum lmd_status put_shown(struct lmi_ctl_answer_printer *s, struct lmd_error *err)
{
	enum lmd_status st;

	if (!s->shown.n)
		return LMD_OK;
	s->wrapped.n = 0;
	if (s->wrap.columns && !s->wrap.at && !s->wrap.n_part)
		take_width(s);
	st = lmi_ctl_word_wrap_add(&s->wrap, s->shown.p, s->shown.n, s->md.fence, &s->wrapped, err);
	return st == LMD_OK && s->wrapped.n ? write_out(s->wrapped.p, s->wrapped.n, err) : st;
}

/* Prints content, as markdown if that is wanted. */
static enum lmd_status put_content(struct lmi_ctl_answer_printer *s, const char *p, size_t n,
				   struct lmd_error *err)
{
	enum lmd_status st;
	size_t k;

	if (!s->markdown)
		return put(s, p, n, err);
	st = make_visible(s, &p, &n, err);
	for (; st == LMD_OK && n; p += k, n -= k) { /* a line at a time: the next one may be code */
		const char *newline = memchr(p, '\n', n);

		k = newline ? (size_t)(newline + 1 - p) : n;
		s->shown.n = 0;
		s->last_byte = p[k - 1];
		st = lmi_ctl_markdown_add(&s->md, p, k, &s->shown, err);
		if (st == LMD_OK)
			st = put_shown(s, err);
	}
	return st;
}

static enum lmd_status end_markdown(struct lmi_ctl_answer_printer *s, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	s->shown.n = 0;
	if (s->markdown)
		st = lmi_ctl_markdown_end(&s->md, &s->shown, err);
	if (st == LMD_OK)
		st = put_shown(s, err);
	lmi_ctl_word_wrap_begin(&s->wrap);
	return st;
}

/* Replaces "thinking ..." by how long it took, or adds that. */
static void end_fold(struct lmi_ctl_answer_printer *s)
{
	printf(s->dim ? "\r\033[K\033[2mthought for %.1f s\033[0m" : " %.1f s",
	       (double)(now_ns() - s->fold_ns) / 1e9);
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
		if (s->fold)
			end_fold(s);
		fputs(s->dim ? plain : "", stdout);
		return put(s, "\n\n", 2, err);
	}
	st = end_markdown(s, err);
	if (st == LMD_OK && s->last_byte && s->last_byte != '\n')
		st = put(s, "\n", 1, err);
	fputs(s->dim ? dim : "", stdout);
	s->fold_ns = now_ns();
	return st == LMD_OK && s->fold ? put(s, "thinking ...", 12, err) : st;
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
	return st == LMD_OK && !s->json ? put_content(s, p, n, err) : st;
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
	return st == LMD_OK && !s->fold ? put(s, p, n, err) : st;
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
	if (st == LMD_OK)
		st = end_markdown(s, err);
	if (st == LMD_OK && s->last_byte && s->last_byte != '\n')
		st = put(s, "\n", 1, err);
	if (st == LMD_OK && s->markdown)
		st = write_out("\033[36m→\033[0m ", 13, err);
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
	struct lmd_error none;

	if (s->json)
		return;
	(void)end_markdown(s, &none);
	if (s->in_reasoning && s->fold)
		end_fold(s);
	if (s->in_reasoning && s->dim)
		fputs("\033[0m", stdout);
	if (s->last_byte != '\n' && (s->last_byte || st == LMD_OK))
		putchar('\n');
	(void)fflush(stdout); /* an error is reported when the program ends */
}

void lmi_ctl_answer_printer_get_call(const struct lmi_ctl_answer_printer *s, uint32_t i,
				     struct lmd_str *name, struct lmd_str *id,
				     struct lmd_str *args)
{
	const struct lmi_ctl_printed_call *c = &s->calls[i];

	*name = (struct lmd_str){.ptr = c->name.p, .len = c->name.n};
	*id = (struct lmd_str){.ptr = c->id.p, .len = c->id.n};
	*args = (struct lmd_str){.ptr = c->args.p, .len = c->args.n};
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
