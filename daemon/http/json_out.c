/* SPDX-License-Identifier: MIT
 *
 * Replaces bytes that are not UTF-8.  Text that needs no change, which is nearly all of it, is
 * neither copied nor allocated. */
#include "daemon/http/json_out.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/json_tree.h"
#include "core/base/utf8.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Copies s with replacements to out, which has space for 3 * s.len bytes; returns the length. */
static size_t repair(char *out, struct lmd_str s)
{
	size_t n = 0;

	for (size_t i = 0, len; i < s.len; i += len) {
		len = lmi_utf8_char(s.ptr + i, s.len - i);
		memcpy(out + n, len ? s.ptr + i : REPLACEMENT, len ? len : 3);
		n += len ? len : 3;
		len += !len;
	}
	return n;
}

static void write_repaired(struct lmi_json_text *j, struct lmd_str s,
			   void (*write)(struct lmi_json_text *j, const char *s, size_t n))
{
	char *p;

	if (lmi_utf8_valid_prefix(s.ptr ? s.ptr : "", s.len) == s.len) {
		write(j, s.ptr ? s.ptr : "", s.len);
		return;
	}
	p = lmi_alloc(s.len, 3);
	if (p)
		write(j, p, repair(p, s));
	else if (j->status == LMD_OK)
		j->status = LMD_NOMEM;
	lmi_free(p);
}

void lmi_http_json_str(struct lmi_json_text *j, struct lmd_str s)
{
	write_repaired(j, s, lmi_json_text_strn);
}

void lmi_http_json_key(struct lmi_json_text *j, struct lmd_str s)
{
	write_repaired(j, s, lmi_json_text_keyn);
}

/* ---- members ---- */

void lmi_http_json_put_str(struct lmi_json_text *j, const char *key, struct lmd_str s)
{
	lmi_json_text_key(j, key);
	lmi_http_json_str(j, s);
}

void lmi_http_json_put_text(struct lmi_json_text *j, const char *key, const char *s)
{
	lmi_json_text_key(j, key);
	if (s)
		lmi_http_json_str(j, (struct lmd_str){.ptr = s, .len = strlen(s)});
	else
		lmi_json_text_null(j);
}

void lmi_http_json_put_int(struct lmi_json_text *j, const char *key, int64_t v)
{
	lmi_json_text_key(j, key);
	lmi_json_text_int(j, v);
}

void lmi_http_json_put_real(struct lmi_json_text *j, const char *key, double v)
{
	lmi_json_text_key(j, key);
	lmi_json_text_real(j, v);
}

void lmi_http_json_put_bool(struct lmi_json_text *j, const char *key, bool v)
{
	lmi_json_text_key(j, key);
	lmi_json_text_bool(j, v);
}

void lmi_http_json_put_null(struct lmi_json_text *j, const char *key)
{
	lmi_json_text_key(j, key);
	lmi_json_text_null(j);
}

void lmi_http_json_put_object(struct lmi_json_text *j, const char *key, struct lmd_str s)
{
	struct lmi_json_tree tree = {0};
	enum lmd_status st = lmi_json_tree_parse(&tree, s.ptr, s.len, NULL, NULL);

	lmi_json_text_key(j, key);
	if (st == LMD_OK && tree.root->type == LMI_JSON_OBJECT) {
		lmi_json_text_node(j, tree.root);
	} else {
		lmi_json_text_object(j);
		lmi_json_text_end(j);
	}
	if (st == LMD_NOMEM && j->status == LMD_OK)
		j->status = LMD_NOMEM;
	lmi_json_tree_fini(&tree);
}

/* ---- pieces ---- */

/* Returns the length of an incomplete character at the end of s. */
static size_t cut_at_end(const char *s, size_t n)
{
	for (size_t k = 1; k <= 3 && k <= n; k++) {
		unsigned char c = (unsigned char)s[n - k];

		if ((c & 0xc0) == 0x80)
			continue;
		return (c >= 0xf0 && c < 0xf5) || (c >= 0xe0 && c < 0xf0 && k < 3) ||
				       (c >= 0xc2 && c < 0xe0 && k < 2)
			       ? k
			       : 0;
	}
	return 0;
}

static char *reserve(struct lmi_http_pieces *t, struct lmd_arena *arena, size_t n)
{
	size_t cap = t->cap ? t->cap : 64;

	if (n <= t->cap)
		return t->p;
	while (cap < n)
		cap *= 2;
	t->p = lmi_arena_alloc(arena, cap, 1);
	t->cap = t->p ? cap : 0;
	return t->p;
}

struct lmd_str lmi_http_pieces_next(struct lmi_http_pieces *t, struct lmd_arena *arena,
				    struct lmd_str s)
{
	struct lmd_str out = s;
	char *p;
	size_t held;

	if (!s.len)
		return (struct lmd_str){.ptr = ""};
	if (!t->n_held && lmi_utf8_valid_prefix(s.ptr, s.len) == s.len)
		return s;
	/* the joined bytes at the end of the buffer, the repaired ones from its start */
	p = reserve(t, arena, 4 * (t->n_held + s.len));
	if (!p)
		return (struct lmd_str){.ptr = ""};
	out.ptr = p + 3 * (t->n_held + s.len);
	out.len = t->n_held + s.len;
	memcpy(p + 3 * out.len, t->held, t->n_held);
	memcpy(p + 3 * out.len + t->n_held, s.ptr, s.len);
	held = cut_at_end(out.ptr, out.len);
	t->n_held = (uint32_t)held;
	memcpy(t->held, out.ptr + out.len - held, held);
	out.len -= held;
	out.len = repair(p, out);
	out.ptr = p;
	return out;
}

struct lmd_str lmi_http_pieces_end(struct lmi_http_pieces *t)
{
	static const char all[] = REPLACEMENT REPLACEMENT REPLACEMENT;
	size_t n = 3 * (size_t)t->n_held;

	t->n_held = 0;
	return (struct lmd_str){.ptr = all + sizeof(all) - 1 - n, .len = n};
}
