/* SPDX-License-Identifier: MIT
 *
 * Texts and attributes of the tokens. Texts are borrowed from the spec. An empty text is replaced
 * by [EMPTY_id], as converters and other programs do, so that every id has a distinct text. */
#include "common/vocab.h"

#include "common/special.h"

#include <stdio.h>
#include <string.h>

#define MAX_TOKENS (1u << 24)
#define EMPTY_BYTES 24

static enum lmd_status fill_texts(struct tok_vocab *v, struct lmd_error *err)
{
	const struct lmd_tok_spec *spec = v->spec;
	size_t n_empty = 0;
	char *own;

	for (uint32_t i = 0; i < v->n; i++)
		n_empty += !spec->text[i].len;
	v->own_text = tok_host_array(v->host, n_empty, EMPTY_BYTES);
	if (!v->own_text)
		return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u texts", v->n);
	own = v->own_text;
	for (uint32_t i = 0; i < v->n; i++) {
		v->text[i] = spec->text[i];
		if (!v->text[i].len) {
			v->text[i].ptr = own;
			v->text[i].len = (size_t)snprintf(own, EMPTY_BYTES, "[EMPTY_%u]", i);
			own += EMPTY_BYTES;
		}
		if (v->text[i].len > UINT32_MAX / 4)
			return lmd_fail(err, LMD_CORRUPT, "token %u: text of %zu bytes, at most %u",
					i, v->text[i].len, UINT32_MAX / 4);
		if (v->text[i].len > v->max_bytes)
			v->max_bytes = (uint32_t)v->text[i].len;
	}
	if (n_empty)
		v->host->log(v->host->ctx, "vocab", LMD_LOG_WARN,
			     "tokens without a text were named [EMPTY_id] n=%zu", n_empty);
	return LMD_OK;
}

int tok_byte_text(const char *s, size_t n)
{
	int v = 0;

	if (n != 6 || memcmp(s, "<0x", 3) != 0 || s[5] != '>')
		return -1;
	for (int i = 3; i < 5; i++) {
		int c = s[i], d;

		if (c >= '0' && c <= '9')
			d = c - '0';
		else if (c >= 'A' && c <= 'F')
			d = c - 'A' + 10;
		else if (c >= 'a' && c <= 'f')
			d = c - 'a' + 10;
		else
			return -1;
		v = v * 16 + d;
	}
	return v;
}

static void fill_attrs(struct tok_vocab *v)
{
	static const uint8_t attr[7] = {0,
					TOK_ATTR_NORMAL,
					TOK_ATTR_UNKNOWN,
					TOK_ATTR_CONTROL,
					TOK_ATTR_USER,
					TOK_ATTR_UNUSED,
					TOK_ATTR_BYTE};
	size_t n_bad = 0;

	for (uint32_t i = 0; i < v->n; i++) {
		unsigned type = v->spec->type ? v->spec->type[i] : (unsigned)LMD_TOKEN_NORMAL;

		v->attr[i] = type < LMD_LEN(attr) ? attr[type] : 0;
		if (v->attr[i] == TOK_ATTR_BYTE &&
		    tok_byte_text(v->text[i].ptr, v->text[i].len) < 0) {
			v->attr[i] = TOK_ATTR_NORMAL;
			n_bad++;
		}
	}
	if (n_bad)
		v->host->log(v->host->ctx, "vocab", LMD_LOG_WARN,
			     "byte tokens whose text is not <0xNN> are used as text n=%zu", n_bad);
}

/* Returns true if a special role might be identified by this text. Such texts start with a
 * bracket, some with U+2581 or an underscore before it. */
static bool may_have_role(const struct lmd_str *t)
{
	static const char sign[] = "\xe2\x96\x81<"; /* U+2581 and '<' */
	size_t n = sizeof(sign) - 1;

	return *t->ptr == '<' || *t->ptr == '[' ||
	       (t->len > 1 && *t->ptr == '_' && t->ptr[1] == '<') ||
	       (t->len > n && !memcmp(t->ptr, sign, n));
}

/* Adds only the texts by which a role might be identified. */
static bool fill_special_map(struct tok_vocab *v)
{
	for (uint32_t i = 0; i < v->n; i++) {
		const struct lmd_str *t = &v->text[i];

		if (!may_have_role(t) && !(v->spec->added && v->spec->added[i]))
			continue;
		if (!tok_string_map_reserve(&v->map, v->host, v->text, v->map.n + 1u))
			return false;
		(void)tok_string_map_add(&v->map, v->text, i);
	}
	return true;
}

static enum lmd_status fill_map(struct tok_vocab *v, struct lmd_error *err)
{
	uint32_t twice, first;

	if (!tok_string_map_init(&v->map, v->host, v->special_only ? 4096 : v->n))
		return lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u entries", v->n);
	if (v->special_only)
		return fill_special_map(v) ? LMD_OK
				   : lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for its map");
	twice = tok_string_map_add_all(&v->map, v->text, v->n, &first);
	if (twice == TOK_NONE)
		return LMD_OK;
	return lmd_fail(err, LMD_CORRUPT, "vocabulary: tokens %u and %u have the same text '%.*s'",
			first, twice, (int)(v->text[twice].len < 60 ? v->text[twice].len : 60),
			v->text[twice].ptr);
}

enum lmd_status tok_vocab_open(struct tok_vocab *v, const struct lmd_host *host,
			       const struct lmd_tok_spec *spec, struct lmd_error *err)
{
	enum lmd_status st;

	memset(v, 0, sizeof(*v));
	v->host = host;
	v->spec = spec;
	v->n = spec->n_tokens;
	v->marked_from = TOK_NONE;
	v->special_only = spec->step != NULL;
	if (!spec->text || !v->n)
		return lmd_fail(err, LMD_CORRUPT, "vocabulary: tokenizer '%s' has no tokens",
				spec->kind ? spec->kind : "");
	if (v->n > MAX_TOKENS)
		return lmd_fail(err, LMD_CORRUPT, "vocabulary: %u tokens, at most %u are allowed",
				v->n, MAX_TOKENS);
	v->text = tok_host_array(host, v->n, sizeof(*v->text));
	v->attr = tok_host_array(host, v->n, sizeof(*v->attr));
	if (!v->text || !v->attr)
		st = lmd_fail(err, LMD_NOMEM, "vocabulary: no memory for %u tokens", v->n);
	else
		st = fill_texts(v, err);
	if (st == LMD_OK) {
		fill_attrs(v);
		st = fill_map(v, err);
	}
	if (st != LMD_OK)
		tok_vocab_close(v);
	return st;
}

void tok_vocab_close(struct tok_vocab *v)
{
	if (!v->host)
		return;
	tok_host_free(v->host, v->text);
	tok_host_free(v->host, v->attr);
	tok_host_free(v->host, v->own_text);
	tok_host_free(v->host, v->eog);
	tok_special_fini(v);
	tok_string_map_fini(&v->map, v->host);
	memset(v, 0, sizeof(*v));
}

uint32_t tok_vocab_byte(const struct tok_vocab *v, unsigned byte)
{
	char text[8];

	snprintf(text, sizeof(text), "<0x%02X>", byte & 255);
	return tok_vocab_find(v, text, 6);
}
