/* SPDX-License-Identifier: MIT */
#include "hub/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "hub/hub_impl.h"

#define BYTES_MAX (1u << 20)
#define LINE_MAX_ 400

static bool is_name(const char *row, const char *name)
{
	for (; *row && *name; row++, name++)
		if (*row != *name && !(*row == ':' && *name == '-'))
			return false;
	return *row == *name;
}

/* Reads "A/B" with numbers of at least 1. */
static bool read_pair(const char *text, uint32_t *a, uint32_t *b)
{
	char rest;

	return sscanf(text, "%9u/%9u%c", a, b, &rest) == 2 && *a && *b;
}

static bool read_word(struct lmi_hub_shape *s, const char *word)
{
	if (!strcmp(word, "tied")) {
		s->tied = true;
		return true;
	}
	if (!strncmp(word, "experts=", 8))
		return read_pair(word + 8, &s->n_used, &s->n_expert) && s->n_used <= s->n_expert;
	if (!strncmp(word, "window=", 7))
		return read_pair(word + 7, &s->window, &s->one_global);
	return false;
}

/* Reads the words of a line after the name; false: it has another form. */
static bool read_shape(struct lmi_hub_shape *s, char *words)
{
	uint32_t *const numbers[] = {&s->n_layer,   &s->width, &s->ffn,     &s->n_head,
				     &s->n_kv_head, &s->head,  &s->n_vocab, &s->n_ctx};
	char *save, *word = strtok_r(words, LMI_HUB_BLANK, &save);

	for (size_t i = 0; i < LMD_LEN(numbers); i++, word = strtok_r(NULL, LMI_HUB_BLANK, &save)) {
		char *end;
		unsigned long v = word ? strtoul(word, &end, 10) : 0;

		if (!word || *end || !v || v > 1u << 24)
			return false;
		*numbers[i] = (uint32_t)v;
	}
	for (; word; word = strtok_r(NULL, LMI_HUB_BLANK, &save))
		if (!read_word(s, word))
			return false;
	return s->n_layer <= 1024 && s->n_kv_head <= s->n_head;
}

enum lmd_status lmi_hub_shape_find(struct lmi_hub_shape *out, const char *file, const char *name,
				   struct lmd_error *err)
{
	char *text;
	size_t n;
	unsigned number = 0;
	bool found = false;
	enum lmd_status st = lmi_file_read_all(file, BYTES_MAX, &text, &n, err);

	if (st != LMD_OK)
		return st;
	for (const char *p = text; p < text + n && st == LMD_OK && !found;) {
		const char *end = memchr(p, '\n', (size_t)(text + n - p));
		size_t len = (size_t)((end ? end : text + n) - p);
		char line[LINE_MAX_] = "", *first;

		number++;
		if (len >= sizeof(line))
			st = lmd_fail(err, LMD_CORRUPT, "%s: line %u has more than %zu bytes", file,
				      number, sizeof(line) - 1);
		else
			memcpy(line, p, len);
		line[strcspn(line, "#")] = 0;
		first = line + strspn(line, LMI_HUB_BLANK);
		p += len + 1;
		len = strcspn(first, LMI_HUB_BLANK);
		if (!len)
			continue;
		memset(out, 0, sizeof(*out));
		(void)snprintf(out->name, sizeof(out->name), "%.*s", (int)len, first);
		found = is_name(out->name, name);
		if (found && !read_shape(out, first + len))
			st = lmd_fail(err, LMD_CORRUPT, "%s: line %u: not the sizes of a model", file,
				      number);
	}
	lmi_free(text);
	if (st == LMD_OK && !found)
		st = lmd_fail(err, LMD_NOTFOUND, "%s has no model '%s'", file, name);
	return st;
}

bool lmi_hub_default_shapes(char *path, size_t n)
{
	return lmi_hub_data_file(path, n, "models.shapes");
}

/* ---- sizes ---- */

static uint64_t attention(const struct lmi_hub_shape *s)
{
	return 2ull * s->width * s->head * (s->n_head + (uint64_t)s->n_kv_head);
}

static uint64_t params(const struct lmi_hub_shape *s, uint32_t n_ffn, uint32_t n_vocab_matrix)
{
	return (uint64_t)n_vocab_matrix * s->n_vocab * s->width +
	       s->n_layer * (attention(s) + 3ull * s->width * s->ffn * n_ffn +
			     (uint64_t)s->width * s->n_expert);
}

uint64_t lmi_hub_shape_params(const struct lmi_hub_shape *s)
{
	return params(s, s->n_expert ? s->n_expert : 1, s->tied ? 1 : 2);
}

uint64_t lmi_hub_shape_active(const struct lmi_hub_shape *s)
{
	return params(s, s->n_expert ? s->n_used : 1, 1);
}

uint64_t lmi_hub_shape_kv(const struct lmi_hub_shape *s, uint32_t n_ctx)
{
	uint32_t global = s->window ? s->n_layer / s->one_global : s->n_layer;
	uint32_t seen = s->window && s->window < n_ctx ? s->window : n_ctx;

	return 4ull * s->n_kv_head * s->head *
	       ((uint64_t)global * n_ctx + (uint64_t)(s->n_layer - global) * seen);
}

uint32_t lmi_hub_shape_fit(const struct lmi_hub_shape *s, uint64_t bytes)
{
	uint32_t lo = 0, hi = s->n_ctx;

	while (lo < hi) {
		uint32_t mid = hi - (hi - lo) / 2;

		if (lmi_hub_shape_kv(s, mid) <= bytes)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}
