/* SPDX-License-Identifier: MIT */
#include "service/pair.h"

#include <string.h>
#include <time.h>

#include "core/text/chat/chat.h"

#define QUERY    "{query}"
#define DOCUMENT "{document}"

/* ---- a template with {query} and {document} ---- */

static enum lmd_status append(struct lmi_text_byte_buf *b, const char *s, size_t n,
			      struct lmd_error *err)
{
	return n ? lmi_text_byte_buf_append(b, s, n, err) : LMD_OK;
}

/* Turns it into a chat template, whose messages are the query and the document, so that only the
 * template can write control tokens.  The empty text at the end keeps a final newline. */
static enum lmd_status to_jinja(struct lmd_str t, struct lmi_text_byte_buf *out,
				struct lmd_error *err)
{
	static const struct {
		const char *from, *to;
	} places[] = {{QUERY, "{{ messages[0].content }}"}, {DOCUMENT, "{{ messages[1].content }}"}};
	enum lmd_status st = LMD_OK;
	size_t from = 0, at = 0;

	while (at < t.len && st == LMD_OK) {
		size_t k = 0;

		while (k < LMD_LEN(places) && (t.len - at < strlen(places[k].from) ||
					       memcmp(t.ptr + at, places[k].from,
						      strlen(places[k].from)) != 0))
			k++;
		if (k == LMD_LEN(places)) {
			at++;
			continue;
		}
		st = append(out, t.ptr + from, at - from, err);
		if (st == LMD_OK)
			st = append(out, places[k].to, strlen(places[k].to), err);
		from = at += strlen(places[k].from);
	}
	if (st == LMD_OK)
		st = append(out, t.ptr + from, t.len - from, err);
	return st == LMD_OK ? append(out, "{{ '' }}", 8, err) : st;
}

static enum lmd_status by_template(const struct lmi_chat *chat, struct lmd_str template,
				   struct lmd_str query, struct lmd_str document,
				   struct lmi_text_token_buf *out, struct lmd_error *err)
{
	const struct lmi_chat_message m[2] = {{.role = {.ptr = "user", .len = 4}, .content = query},
					      {.role = {.ptr = "user", .len = 4},
					       .content = document}};
	struct lmi_text_byte_buf jinja = {0};
	struct lmi_chat_input in = {.messages = m, .n_messages = 2};
	time_t now = time(NULL);
	enum lmd_status st = to_jinja(template, &jinja, err);

	(void)localtime_r(&now, &in.now);
	in.template = (struct lmd_str){.ptr = jinja.p, .len = jinja.n};
	if (st == LMD_OK)
		st = lmi_chat_encode(chat, &in, false, out, NULL, err);
	lmi_text_byte_buf_fini(&jinja);
	return st;
}

/* ---- special tokens ---- */

/* Appends a token unless it is negative. */
static enum lmd_status put(struct lmi_text_token_buf *out, lmd_token id, struct lmd_error *err)
{
	return id >= 0 ? lmi_text_token_buf_append(out, &id, 1, err) : LMD_OK;
}

static enum lmd_status put_text(const struct lmi_tokenizer *t, struct lmd_str text,
				struct lmi_text_token_buf *out, struct lmd_error *err)
{
	struct lmi_text_token_buf part = {0};
	enum lmd_status st = lmi_tokenizer_encode(t, text.ptr, text.len, 0, &part, err);

	if (st == LMD_OK && part.n)
		st = lmi_text_token_buf_append(out, part.id, part.n, err);
	lmi_text_token_buf_fini(&part);
	return st;
}

/* Joins as begin, query, end, separator, document, end. */
static enum lmd_status by_tokens(const struct lmi_tokenizer *t, struct lmd_str query,
				 struct lmd_str document, struct lmi_text_token_buf *out,
				 lmd_token *last, struct lmd_error *err)
{
	const struct lmd_tok_info *v = lmi_tokenizer_info(t);
	lmd_token end = v->eos >= 0 ? v->eos : v->sep;
	lmd_token sep = v->add_sep ? v->sep : -1;
	lmd_token begin = v->bos >= 0 ? v->bos : v->cls;
	enum lmd_status st;

	end = v->add_eos ? end : -1;
	*last = end >= 0 ? end : sep;
	out->n = 0;
	st = put(out, v->add_bos ? begin : -1, err);
	if (st == LMD_OK)
		st = put_text(t, query, out, err);
	if (st == LMD_OK)
		st = put(out, end, err);
	if (st == LMD_OK)
		st = put(out, sep, err);
	if (st == LMD_OK)
		st = put_text(t, document, out, err);
	return st == LMD_OK ? put(out, *last, err) : st;
}

enum lmd_status lmi_svc_pair_encode(const struct lmi_engine *e, struct lmd_str query,
				    struct lmd_str document, uint32_t n_max,
				    struct lmi_text_token_buf *out, struct lmd_error *err)
{
	static const struct lmd_str name = {.ptr = "rerank", .len = 6};
	struct lmd_str template;
	lmd_token last = -1;
	enum lmd_status st;

	if (lmi_chat_find_variant(lmi_engine_chat(e), name, &template))
		st = by_template(lmi_engine_chat(e), template, query, document, out, err);
	else
		st = by_tokens(lmi_engine_tokenizer(e), query, document, out, &last, err);
	if (st != LMD_OK || !n_max || out->n <= n_max)
		return st;
	out->n = n_max;
	if (last >= 0)
		out->id[n_max - 1] = last;
	return LMD_OK;
}
