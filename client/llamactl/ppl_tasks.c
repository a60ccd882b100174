/* SPDX-License-Identifier: MIT
 *
 * Files of multiple-choice tasks, in the formats in which they are published:
 *
 *     hellaswag    text, six lines per task: beginning, number of the right ending, four endings
 *     winogrande   comma-separated: number, sentence with a gap "_", two words, which is right
 *     choice       binary, little-endian: number of tasks, an offset for each (from the end of that
 *                  list), and at each offset a question, its answers and a 0/1 for each; a second
 *                  list of answers follows and is not used
 *
 * Texts stay in the file's bytes. */
#include <stdlib.h>
#include <string.h>

#include "client/llamactl/ppl.h"
#include "core/base/alloc.h"
#include "core/base/bytes.h"

#define TASKS_MAX (1u << 20)

static enum lmd_status bad(const struct lmi_task_file *f, struct lmd_error *err, const char *what)
{
	return lmd_fail(err, LMD_INVALID, "%.160s: task %u: %s", f->path, f->n_task, what);
}

enum lmd_status lmi_task_file_init(struct lmi_task_file *f, struct lmd_error *err)
{
	if (f->format != LMI_TASK_CHOICE)
		return LMD_OK;
	f->n_all = f->n_bytes >= 4 ? lmi_get_le32(f->bytes) : 0;
	if (f->n_all < 1 || f->n_all > TASKS_MAX || f->n_bytes < 4 + 4ull * f->n_all)
		return lmd_fail(err, LMD_INVALID, "%.160s: not a file of tasks: %u tasks in %zu "
						  "bytes",
				f->path, f->n_all, f->n_bytes);
	f->base = 4 + 4ull * f->n_all;
	return LMD_OK;
}

/* Returns the next line without its line break; false at the end of the file. */
static bool line(struct lmi_task_file *f, struct lmd_str *out)
{
	const char *p = f->bytes + f->at, *e;

	if (f->at >= f->n_bytes)
		return false;
	e = memchr(p, '\n', f->n_bytes - f->at);
	out->ptr = p;
	out->len = e ? (size_t)(e - p) : f->n_bytes - f->at;
	f->at += out->len + 1;
	if (out->len && p[out->len - 1] == '\r')
		out->len--;
	return true;
}

static bool is_blank(const struct lmd_str *s)
{
	for (size_t i = 0; i < s->len; i++)
		if (s->ptr[i] != ' ' && s->ptr[i] != '\t')
			return false;
	return true;
}

static enum lmd_status next_hellaswag(struct lmi_task_file *f, struct lmi_task *t,
				      struct lmd_error *err)
{
	struct lmd_str gold;

	do {
		if (!line(f, &t->begin))
			return LMD_NOTFOUND;
	} while (is_blank(&t->begin));
	f->n_task++;
	if (!line(f, &gold) || gold.len != 1 || gold.ptr[0] < '0' || gold.ptr[0] > '3')
		return bad(f, err, "the second line is not the number of an ending, 0 to 3");
	for (t->n = 0; t->n < 4; t->n++)
		if (!line(f, &t->choice[t->n]) || is_blank(&t->choice[t->n]))
			return bad(f, err, "it has fewer than four endings");
	t->right[gold.ptr[0] - '0'] = 1;
	t->space = true;
	return LMD_OK;
}

/* Cuts a field off the line and removes quotes in place. */
static bool field(struct lmd_str *rest, struct lmd_str *out)
{
	char *p = (char *)(uintptr_t)rest->ptr, *to = p;
	size_t n = rest->len, i = 0;
	bool quoted = n && p[0] == '"';

	if (!rest->ptr)
		return false;
	for (i = quoted; i < n; i++) {
		if (!quoted && p[i] == ',')
			break;
		if (quoted && p[i] == '"') {
			if (i + 1 >= n || p[i + 1] != '"') {
				i++;
				break;
			}
			i++;
		}
		*to++ = p[i];
	}
	*out = (struct lmd_str){.ptr = p, .len = (size_t)(to - p)};
	if (i < n && p[i] != ',')
		return false;
	*rest = i < n ? (struct lmd_str){.ptr = p + i + 1, .len = n - i - 1} : (struct lmd_str){0};
	return true;
}

static enum lmd_status next_winogrande(struct lmi_task_file *f, struct lmi_task *t,
				       struct lmd_error *err)
{
	struct lmd_str rest, number, text = {0}, gold = {0};
	const char *gap;
	bool ok;

	do {
		if (!line(f, &rest))
			return LMD_NOTFOUND;
	} while (is_blank(&rest));
	f->n_task++;
	ok = field(&rest, &number) && field(&rest, &text) && field(&rest, &t->choice[0]) &&
	     field(&rest, &t->choice[1]) && field(&rest, &gold);
	if (!ok || gold.len != 1 || (gold.ptr[0] != '1' && gold.ptr[0] != '2')) {
		if (f->n_task > 1 || f->headed)
			return bad(
				f, err,
				"the line is not: number, sentence, two words, and which is "
				"right (1, 2)");
		f->headed = true; /* a header line */
		f->n_task = 0;
		return next_winogrande(f, t, err);
	}
	gap = text.len ? memchr(text.ptr, '_', text.len) : NULL;
	if (!gap)
		return bad(f, err, "the sentence has no gap \"_\"");
	t->n = 2;
	t->begin = (struct lmd_str){.ptr = text.ptr, .len = (size_t)(gap - text.ptr)};
	t->tail = (struct lmd_str){.ptr = gap + 1, .len = text.len - t->begin.len - 1};
	t->right[gold.ptr[0] - '1'] = 1;
	return LMD_OK;
}

/* ---- binary ---- */

static bool get_u32(struct lmi_task_file *f, uint32_t *v)
{
	if (f->at > f->n_bytes || f->n_bytes - f->at < 4)
		return false;
	*v = lmi_get_le32(f->bytes + f->at);
	f->at += 4;
	return true;
}

static bool get_text(struct lmi_task_file *f, struct lmd_str *s)
{
	uint32_t n = 0;

	if (!get_u32(f, &n) || n > f->n_bytes - f->at)
		return false;
	*s = (struct lmd_str){.ptr = f->bytes + f->at, .len = n};
	f->at += n;
	return true;
}

static enum lmd_status next_choice(struct lmi_task_file *f, struct lmi_task *t,
				   struct lmd_error *err)
{
	bool any = false;

	if (f->n_task == f->n_all)
		return LMD_NOTFOUND;
	f->at = f->base + lmi_get_le32(f->bytes + 4 + 4 * (size_t)f->n_task++);
	if (!get_text(f, &t->begin) || !get_u32(f, &t->n))
		return bad(f, err, "lies outside of the file");
	if (t->n < 2 || t->n > LMI_MAX_CHOICES)
		return lmd_fail(err, LMD_INVALID, "%.160s: task %u: %u answers, must be 2..%u",
				f->path, f->n_task, t->n, LMI_MAX_CHOICES);
	for (uint32_t i = 0; i < t->n; i++)
		if (!get_text(f, &t->choice[i]) || is_blank(&t->choice[i]))
			return bad(f, err, "an answer is empty or lies outside of the file");
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t label = 0;

		if (!get_u32(f, &label))
			return bad(f, err, "lies outside of the file");
		t->right[i] = label == 1;
		any = any || label == 1;
	}
	t->space = true;
	return any ? LMD_OK : bad(f, err, "no answer is right");
}

enum lmd_status lmi_task_next(struct lmi_task_file *f, struct lmi_task *t, struct lmd_error *err)
{
	*t = (struct lmi_task){0};
	switch (f->format) {
	case LMI_TASK_HELLASWAG:
		return next_hellaswag(f, t, err);
	case LMI_TASK_WINOGRANDE:
		return next_winogrande(f, t, err);
	case LMI_TASK_CHOICE:
		break;
	}
	return next_choice(f, t, err);
}
