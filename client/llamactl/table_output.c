/* SPDX-License-Identifier: MIT
 *
 * Prints the daemon's lists as tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/llamactl/remote.h"

#define CELL	 4352 /* room for a path of PATH_MAX bytes */
#define COLS	 16
#define PATH_MIN 16 /* columns that a shortened path keeps on the narrowest terminal */

const char *lmi_ctl_show_bytes(char *out, size_t size, int64_t bytes)
{
	static const char unit[] = "KMGTP";
	double v = (double)bytes;
	int u = -1;

	while (v >= 1024 && u < 4) {
		v /= 1024;
		u++;
	}
	if (u < 0)
		(void)snprintf(out, size, "%" PRId64, bytes);
	else
		(void)snprintf(out, size, "%.*f%c", v < 100 ? 1 : 0, v, unit[u]);
	return out;
}

const char *lmi_ctl_show_size(char *out, size_t size, uint64_t bytes)
{
	if (bytes >= 1024)
		return lmi_ctl_show_bytes(out, size,
					  bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX);
	(void)snprintf(out, size, "%" PRIu64 " bytes", bytes);
	return out;
}

const char *lmi_ctl_show_ms(char *out, size_t size, int64_t ms)
{
	int64_t s = ms / 1000;

	if (ms < 0)
		(void)snprintf(out, size, "never");
	else if (ms < 1000)
		(void)snprintf(out, size, "%" PRId64 "ms", ms);
	else if (s < 60)
		(void)snprintf(out, size, "%" PRId64 "s", s);
	else if (s < 3600)
		(void)snprintf(out, size, "%" PRId64 "m%02ds", s / 60, (int)(s % 60));
	else if (s < 86400)
		(void)snprintf(out, size, "%" PRId64 "h%02dm", s / 3600, (int)(s / 60 % 60));
	else
		(void)snprintf(out, size, "%" PRId64 "d%02dh", s / 86400, (int)(s / 3600 % 24));
	return out;
}

const char *lmi_ctl_show_state(const char *state)
{
	return state && !strcmp(state, "absent") ? "not loaded" : state;
}

int lmi_ctl_terminal_width(void)
{
	struct winsize w;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) ? w.ws_col : 0;
}

/* Counts characters, not bytes, so that columns line up. */
static int width(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

/* Returns where character n of s begins. */
static const char *skip(const char *s, int n)
{
	for (; *s && n > 0; n--)
		do
			s++;
		while ((*s & 0xc0) == 0x80);
	return s;
}

const char *lmi_ctl_show_shortened(char *out, size_t size, const char *text, int most)
{
	int n = width(text), front = (most - 3) / 3, back = most - 3 - front;

	if (n <= most)
		(void)snprintf(out, size, "%s", text);
	else
		(void)snprintf(out, size, "%.*s...%s", (int)(skip(text, front) - text), text,
			       skip(text, n - back));
	return out;
}

static void list_text(char out[CELL], const json_t *list)
{
	size_t i, n = 0;
	json_t *e;

	out[0] = 0;
	json_array_foreach(list, i, e)
	{
		const char *s = json_string_value(e);

		if (s && n < CELL)
			n += (size_t)snprintf(out + n, CELL - n, "%s%s", i ? "," : "", s);
	}
}

static enum lmi_ctl_column_kind kind_of(const struct lmi_ctl_column *c)
{
	return c->kind & ~(unsigned)LMI_CTL_COL_SPARE;
}

static void cell(char out[CELL], const json_t *row, const struct lmi_ctl_column *c)
{
	const json_t *v = json_object_get(row, c->member);
	const char *s = json_string_value(v);

	out[0] = 0;
	if (json_is_integer(v) && kind_of(c) == LMI_CTL_COL_BYTES)
		lmi_ctl_show_bytes(out, CELL, json_integer_value(v));
	else if (json_is_integer(v) && kind_of(c) == LMI_CTL_COL_TIME)
		lmi_ctl_show_ms(out, CELL, json_integer_value(v));
	else if (json_is_integer(v))
		(void)snprintf(out, CELL, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_real(v))
		(void)snprintf(out, CELL, "%.6g", json_real_value(v));
	else if (json_is_array(v))
		list_text(out, v);
	else if (s && kind_of(c) == LMI_CTL_COL_DIGEST)
		(void)snprintf(out, CELL, "%.12s", !strncmp(s, "sha256:", 7) ? s + 7 : s);
	else if (s)
		(void)snprintf(out, CELL, "%s",
			       kind_of(c) == LMI_CTL_COL_STATE ? lmi_ctl_show_state(s) : s);
	if (!out[0])
		(void)snprintf(out, CELL, "-");
	for (char *p = out; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
}

static void put(FILE *out, const char *s, int w, bool right, bool last)
{
	int pad = w - width(s);

	if (right)
		fprintf(out, "%*s", pad, "");
	fputs(s, out);
	if (!last)
		fprintf(out, "%*s", right ? 2 : pad + 2, "");
}

/* Columns that are printed, with their widths. */
struct layout {
	const struct lmi_ctl_column *cols[COLS];
	int w[COLS];
	size_t n;
};

static int width_of_all(const struct layout *l)
{
	int all = 2 * ((int)l->n - 1);

	for (size_t c = 0; c < l->n; c++)
		all += l->w[c];
	return all;
}

/* Leaves spare columns out, the last ones first, until rows fit. */
static void drop_spare(struct layout *l, int terminal)
{
	for (size_t c = l->n; c-- && width_of_all(l) > terminal;) {
		if (!(l->cols[c]->kind & LMI_CTL_COL_SPARE))
			continue;
		l->n--;
		memmove(&l->cols[c], &l->cols[c + 1], (l->n - c) * sizeof(l->cols[0]));
		memmove(&l->w[c], &l->w[c + 1], (l->n - c) * sizeof(l->w[0]));
	}
}

/* Shrinks the path's column by the number of columns by which rows are too wide. */
static void fit_path(struct layout *l, int terminal)
{
	int all = width_of_all(l);

	for (size_t c = 0; c < l->n && all > terminal; c++) {
		if (kind_of(l->cols[c]) != LMI_CTL_COL_PATH || l->w[c] <= PATH_MIN)
			continue;
		l->w[c] -= all - terminal;
		if (l->w[c] < PATH_MIN)
			l->w[c] = PATH_MIN;
		return;
	}
}

static bool is_number(const struct lmi_ctl_column *c)
{
	return kind_of(c) == LMI_CTL_COL_COUNT || kind_of(c) == LMI_CTL_COL_BYTES ||
	       kind_of(c) == LMI_CTL_COL_TIME;
}

void lmi_ctl_table_print(FILE *out, int columns, const json_t *rows,
			 const struct lmi_ctl_column *cols, size_t n_cols)
{
	char text[CELL], shown[CELL];
	struct layout l = {.n = n_cols};
	size_t i;
	json_t *row;

	for (size_t c = 0; c < n_cols; c++) {
		l.cols[c] = &cols[c];
		l.w[c] = width(cols[c].title);
		json_array_foreach(rows, i, row)
		{
			cell(text, row, &cols[c]);
			if (width(text) > l.w[c])
				l.w[c] = width(text);
		}
	}
	if (columns) {
		drop_spare(&l, columns);
		fit_path(&l, columns);
	}
	for (size_t c = 0; c < l.n; c++)
		put(out, l.cols[c]->title, l.w[c], is_number(l.cols[c]), c + 1 == l.n);
	fputc('\n', out);
	json_array_foreach(rows, i, row)
	{
		for (size_t c = 0; c < l.n; c++) {
			cell(text, row, l.cols[c]);
			put(out, lmi_ctl_show_shortened(shown, sizeof(shown), text, l.w[c]), l.w[c],
			    is_number(l.cols[c]), c + 1 == l.n);
		}
		fputc('\n', out);
	}
}

void lmi_ctl_remote_table(const json_t *rows, const struct lmi_ctl_column *cols, size_t n_cols)
{
	lmi_ctl_table_print(stdout, lmi_ctl_terminal_width(), rows, cols, n_cols);
}
