/* SPDX-License-Identifier: MIT */
#include "client/llamactl/markdown.h"

#include <ctype.h>
#include <string.h>

#define BOLD	   "\033[1m"
#define BOLD_OFF   "\033[22m"
#define ITALIC	   "\033[3m"
#define ITALIC_OFF "\033[23m"
#define DIM	   "\033[2m"
#define CODE	   "\033[36m"
#define CODE_OFF   "\033[39m"
#define ALL_OFF	   "\033[0m"

/* The output of one call; the first failure stays. */
struct writer {
	struct lmi_ctl_markdown *m;
	struct lmi_text_byte_buf *out;
	struct lmd_error *err;
	enum lmd_status st;
};

static void put(struct writer *w, const char *text, size_t n)
{
	if (w->st == LMD_OK && n)
		w->st = lmi_text_byte_buf_append(w->out, text, n, w->err);
}

static void style(struct writer *w, const char *sequence)
{
	put(w, sequence, strlen(sequence));
}

/* ---- in a line ---- */

static void toggle(struct writer *w, bool *on, const char *begin, const char *end)
{
	style(w, *on ? end : begin);
	*on = !*on;
}

/* A run of stars opens before a word and closes after one. c: what follows. */
static void end_stars(struct writer *w, char c)
{
	struct lmi_ctl_markdown *m = w->m;
	bool opens = c && !isspace((unsigned char)c);
	bool closes = m->before && !isspace((unsigned char)m->before);
	unsigned n = m->n_run;

	if (n >= 2 && n <= 3 && (m->bold ? closes : opens)) {
		toggle(w, &m->bold, BOLD, m->heading ? "" : BOLD_OFF);
		n -= 2;
	}
	if (n == 1 && (m->italic ? closes : opens)) {
		toggle(w, &m->italic, ITALIC, ITALIC_OFF);
		n = 0;
	}
	for (; n; n--)
		put(w, "*", 1);
}

static void end_run(struct writer *w, char c)
{
	struct lmi_ctl_markdown *m = w->m;

	if (!m->n_run)
		return;
	if (m->run == '`')
		toggle(w, &m->code, CODE, CODE_OFF);
	else
		end_stars(w, c);
	m->before = m->run;
	m->n_run = 0;
}

static void end_line(struct writer *w)
{
	struct lmi_ctl_markdown *m = w->m;

	end_run(w, '\n');
	if (m->escape)
		put(w, "\\", 1);
	if (m->heading || m->bold || m->italic || m->code)
		style(w, ALL_OFF);
	put(w, "\n", 1);
	*m = (struct lmi_ctl_markdown){.fence = m->fence};
}

static void put_inline(struct writer *w, char c)
{
	struct lmi_ctl_markdown *m = w->m;

	if (c == '\n') {
		end_line(w);
		return;
	}
	if (m->escape) {
		m->escape = false;
		if (!ispunct((unsigned char)c))
			put(w, "\\", 1);
		put(w, &c, 1);
		m->before = c;
		return;
	}
	if (m->n_run && c != m->run)
		end_run(w, c);
	if ((c == '*' && !m->code) || c == '`') {
		m->run = c;
		m->n_run++;
		return;
	}
	m->escape = c == '\\' && !m->code;
	if (!m->escape)
		put(w, &c, 1);
	m->before = c;
}

/* ---- the beginning of a line ---- */

/* Ends the beginning: the characters are text. */
static void release(struct writer *w)
{
	struct lmi_ctl_markdown *m = w->m;
	char head[sizeof(m->head)];
	unsigned n = m->n_head;

	memcpy(head, m->head, n);
	m->n_head = 0;
	m->in_line = true;
	for (unsigned i = 0; i < n; i++)
		put_inline(w, head[i]);
}

static void begin_fence(struct writer *w)
{
	struct lmi_ctl_markdown *m = w->m;

	m->fence = !m->fence;
	m->fence_line = m->in_line = true;
	style(w, DIM);
	put(w, m->head, m->n_head);
	m->n_head = 0;
}

/* Replaces the marker after `indent` blanks by a text, and goes on with the line. */
static void begin_block(struct writer *w, unsigned indent, const char *text)
{
	put(w, w->m->head, indent);
	style(w, text);
	w->m->n_head = 0;
	w->m->in_line = true;
}

/* Decides about a line of a fenced block. */
static void decide_in_fence(struct writer *w, const char *mark, unsigned n_mark)
{
	struct lmi_ctl_markdown *m = w->m;

	if (n_mark >= 3 && !strncmp(mark, "```", 3))
		begin_fence(w);
	else if (!n_mark ? m->n_head > 8 : strncmp(mark, "```", n_mark) != 0 || m->n_head > 11) {
		style(w, CODE);
		put(w, m->head, m->n_head);
		m->n_head = 0;
		m->in_line = true;
	}
}

static void decide(struct writer *w)
{
	struct lmi_ctl_markdown *m = w->m;
	unsigned indent = 0, n_mark, same = 0;
	const char *mark;

	while (indent < m->n_head && m->head[indent] == ' ')
		indent++;
	mark = m->head + indent;
	n_mark = m->n_head - indent;
	if (m->fence) {
		decide_in_fence(w, mark, n_mark);
		return;
	}
	if (!n_mark || m->n_head == sizeof(m->head) - 1) {
		if (m->n_head >= 12)
			release(w);
		return;
	}
	while (same < n_mark && mark[same] == *mark)
		same++;
	if (*mark == '`' && same >= 3)
		begin_fence(w);
	else if (*mark == '#' && same < n_mark && same <= 6 && mark[same] == ' ') {
		m->heading = true;
		begin_block(w, 0, BOLD);
	} else if (strchr("-*+", *mark) && n_mark == 2 && mark[1] == ' ')
		begin_block(w, indent, "• ");
	else if (*mark == '>')
		begin_block(w, indent, DIM "│" ALL_OFF);
	else if (!(strchr("`#-*+", *mark) && same == n_mark && same < 7))
		release(w);
}

/* A line that ends at its beginning: empty, a rule, or a few characters. */
static void end_short_line(struct writer *w)
{
	struct lmi_ctl_markdown *m = w->m;
	bool rule = m->n_head >= 3 && (m->head[0] == '-' || m->head[0] == '*');

	for (unsigned i = 1; i < m->n_head; i++)
		rule = rule && m->head[i] == m->head[0];
	if (rule && !m->fence) {
		style(w, DIM "────────────────────" ALL_OFF "\n");
		m->n_head = 0;
		return;
	}
	if (m->fence) {
		put(w, m->head, m->n_head);
		m->n_head = 0;
	} else {
		release(w);
	}
	end_line(w);
}

static void put_char(struct writer *w, char c)
{
	struct lmi_ctl_markdown *m = w->m;

	if (!m->in_line && c == '\n') {
		end_short_line(w);
	} else if (!m->in_line) {
		m->head[m->n_head++] = c;
		decide(w);
	} else if (m->fence || m->fence_line) {
		if (c == '\n') {
			style(w, ALL_OFF);
			end_line(w);
		} else {
			put(w, &c, 1);
		}
	} else {
		put_inline(w, c);
	}
}

enum lmd_status lmi_ctl_markdown_add(struct lmi_ctl_markdown *m, const char *text, size_t n,
				     struct lmi_text_byte_buf *out, struct lmd_error *err)
{
	struct writer w = {.m = m, .out = out, .err = err};

	for (size_t i = 0; i < n && w.st == LMD_OK; i++)
		put_char(&w, text[i]);
	return w.st;
}

enum lmd_status lmi_ctl_markdown_end(struct lmi_ctl_markdown *m, struct lmi_text_byte_buf *out,
				     struct lmd_error *err)
{
	struct writer w = {.m = m, .out = out, .err = err};

	if (m->n_head && m->fence)
		put(&w, m->head, m->n_head);
	else if (m->n_head)
		release(&w);
	end_run(&w, 0);
	if (m->escape)
		put(&w, "\\", 1);
	if (m->heading || m->bold || m->italic || m->code || m->fence || m->fence_line)
		style(&w, ALL_OFF);
	*m = (struct lmi_ctl_markdown){0};
	return w.st;
}
