/* SPDX-License-Identifier: MIT
 *
 * Pictures come as files or as base64 text; nothing is fetched from an address. */
#include "service/pictures.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/alloc.h"
#include "core/base/base64.h"
#include "service/stream.h"

uint32_t lmi_svc_pictures_count(const struct lmi_wire_req_generate *q)
{
	uint32_t n = 0;

	for (uint32_t i = 0; q->has_messages && i < q->n_messages; i++)
		n += q->messages[i].n_pictures;
	return n;
}

/* ---- from bytes to parts ---- */

/* Returns what follows "data:...;base64," in a URI, or the text as it is. */
static enum lmd_status after_header(struct lmd_str *text, struct lmd_error *err)
{
	const char *comma = memchr(text->ptr, ',', text->len < 256 ? text->len : 256);

	if (text->len > 4 && !strncasecmp(text->ptr, "http", 4))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"an address is not fetched: send the picture itself, as a data: URI or base64");
	if (text->len < 5 || strncasecmp(text->ptr, "data:", 5) != 0)
		return LMD_OK;
	if (!comma || comma - text->ptr < 12 || strncasecmp(comma - 7, ";base64", 7) != 0)
		return lmd_fail(err, LMD_INVALID, "the data: URI must contain ;base64,");
	*text = (struct lmd_str){comma + 1, text->len - (size_t)(comma + 1 - text->ptr)};
	return LMD_OK;
}

static enum lmd_status decode(struct lmi_picture_pixels *out, struct lmd_str data, struct lmd_error *err)
{
	bool is_file = data.len && !(data.ptr[0] >= ' ' && data.ptr[0] <= '~');
	unsigned char *bytes;
	enum lmd_status st;
	size_t n;

	if (is_file) /* neither base64 nor a URI begins like this */
		return lmi_picture_decode(out, data.ptr, data.len, err);
	st = after_header(&data, err);
	if (st != LMD_OK)
		return st;
	bytes = lmi_alloc(lmi_base64_bytes_max(data.len), 1);
	if (!bytes)
		return lmd_fail(err, LMD_NOMEM, "no memory for %zu bytes", data.len);
	if (lmi_base64_decode(data.ptr, data.len, bytes, &n))
		st = lmi_picture_decode(out, bytes, n, err);
	else
		st = lmd_fail(err, LMD_INVALID, "%zu bytes are neither a PNG or JPEG file nor base64", data.len);
	lmi_free(bytes);
	return st;
}

/* Tells the chat template where the parts of a picture are. */
static enum lmd_status describe(struct lmi_chat_picture *out, const struct lmi_picture_layout *l,
				const struct lmi_engine *e, struct lmd_error *err)
{
	*out = (struct lmi_chat_picture){.n = l->n, .after = l->after};
	out->parts = lmi_alloc(l->n, sizeof(*out->parts));
	if (!out->parts)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u parts of a picture", l->n);
	for (uint32_t i = 0; i < l->n; i++) {
		const struct lmi_picture_part *p = &l->parts[i];

		out->parts[i] = (struct lmi_chat_picture_part){
			.before = p->before,
			.n_row = lmi_engine_picture_rows(e, p->patches_w, p->patches_h)};
		if (!out->parts[i].n_row)
			return lmd_fail(err, LMD_INVALID,
					"the vision tower takes no picture of %u x %u patches", p->patches_w,
					p->patches_h);
	}
	return LMD_OK;
}

static enum lmd_status read_one(struct lmi_svc_pictures *p, uint32_t i, struct lmd_str data,
				const struct lmi_engine *e, struct lmd_error *err)
{
	struct lmi_picture_pixels pixels = {0};
	enum lmd_status st = decode(&pixels, data, err);

	if (st == LMD_OK)
		st = lmi_picture_layout_make(&p->layouts[i], &pixels, lmi_engine_picture(e), err);
	lmi_picture_pixels_fini(&pixels);
	if (st == LMD_CORRUPT)
		return LMD_INVALID; /* the client's file, not one of the server's */
	return st == LMD_OK ? describe(&p->chat[i], &p->layouts[i], e, err) : st;
}

/* Pictures that do not fit into the context need not be decoded all. */
static enum lmd_status check_rows(const struct lmi_svc_pictures *p, uint32_t n, uint32_t n_ctx,
				  struct lmd_error *err)
{
	uint64_t rows = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < p->chat[i].n; k++)
			rows += p->chat[i].parts[k].n_row;
	return rows <= n_ctx ? LMD_OK
			     : lmd_fail(err, LMD_INVALID,
					"the first %u pictures take %llu tokens, which exceeds the available "
					"context size of %u",
					n, (unsigned long long)rows, n_ctx);
}

enum lmd_status lmi_svc_pictures_read(struct lmi_svc_pictures *out, const struct lmi_engine *e,
				      const struct lmi_wire_req_generate *q, struct lmd_error *err)
{
	uint32_t n = lmi_svc_pictures_count(q), at = 0;
	struct lmi_engine_info info;
	uint64_t random[2];
	enum lmd_status st;

	*out = (struct lmi_svc_pictures){0};
	if (!n)
		return LMD_OK;
	lmi_engine_info(e, &info);
	if (!lmi_engine_picture(e))
		return lmd_fail(err, LMD_UNSUPPORTED,
				"messages: %u pictures, but %.80s cannot read pictures: it has no vision tower "
				"(mmproj)",
				n, info.model);
	st = lmi_svc_random(random, sizeof(random), err);
	if (st != LMD_OK)
		return st;
	(void)snprintf(out->mark, sizeof(out->mark), "<picture %016llx%016llx>",
		       (unsigned long long)random[0], (unsigned long long)random[1]);
	out->layouts = lmi_alloc(n, sizeof(*out->layouts));
	out->chat = lmi_alloc(n, sizeof(*out->chat));
	if (!out->layouts || !out->chat)
		st = lmd_fail(err, LMD_NOMEM, "no memory for %u pictures", n);
	else
		out->n = n;
	for (uint32_t i = 0; i < q->n_messages && st == LMD_OK; i++)
		for (uint32_t k = 0; k < q->messages[i].n_pictures && st == LMD_OK; k++, at++) {
			st = read_one(out, at, q->messages[i].pictures[k].data, e, err);
			if (st != LMD_OK) {
				char where[64];

				(void)snprintf(where, sizeof(where), "messages[%u], picture %u", i, k + 1);
				lmd_error_prefix(err, where);
			} else {
				st = check_rows(out, at + 1, info.n_ctx, err);
			}
		}
	return st;
}

/* ---- into the prompt ---- */

enum lmd_status lmi_svc_pictures_mark(const struct lmi_svc_pictures *p,
				      const struct lmi_wire_chat_message *m, struct lmd_str *out, char **own,
				      struct lmd_error *err)
{
	size_t n_mark = strlen(p->mark), from = 0, to = 0;
	char *text;

	*own = NULL;
	*out = m->content;
	if (!m->n_pictures)
		return LMD_OK;
	text = lmi_alloc(m->content.len + m->n_pictures * n_mark + 1, 1);
	if (!text)
		return lmd_fail(err, LMD_NOMEM, "no memory for a message of %zu bytes", m->content.len);
	for (uint32_t i = 0; i < m->n_pictures; i++) {
		size_t at = (uint64_t)m->pictures[i].at < m->content.len ? (size_t)m->pictures[i].at
									 : m->content.len;

		if (at > from) {
			memcpy(text + to, m->content.ptr + from, at - from);
			to += at - from;
			from = at;
		}
		memcpy(text + to, p->mark, n_mark);
		to += n_mark;
	}
	if (m->content.len > from)
		memcpy(text + to, m->content.ptr + from, m->content.len - from);
	to += m->content.len - from;
	*out = (struct lmd_str){text, to};
	*own = text;
	return LMD_OK;
}

enum lmd_status lmi_svc_pictures_place(struct lmi_svc_pictures *p, const struct lmi_engine *e,
				       struct lmd_error *err)
{
	const struct lmd_picture *how = lmi_engine_picture(e);
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += p->layouts[i].n;
	if (!n)
		return LMD_OK;
	p->parts = lmi_alloc(n, sizeof(*p->parts));
	p->digests = lmi_alloc(n, sizeof(*p->digests));
	if (!p->parts || !p->digests)
		return lmd_fail(err, LMD_NOMEM, "no memory for %u parts of pictures", n);
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t k = 0; k < p->layouts[i].n; k++) {
			const struct lmi_picture_part *x = &p->layouts[i].parts[k];
			struct lmi_engine_picture *to = &p->parts[p->n_part];
			bool grid = how->flags & LMD_PICTURE_GRID;
			enum lmd_status st;

			*to = (struct lmi_engine_picture){
				.first = p->chat[i].parts[k].first,
				.n = p->chat[i].parts[k].n_row,
				.patches = x->patches,
				.patches_w = x->patches_w,
				.patches_h = x->patches_h,
				.grid_w = grid ? x->patches_w / how->merge : 0,
				.grid_h = grid ? x->patches_h / how->merge : 0,
				.both_ways = how->flags & LMD_PICTURE_BOTH_WAYS};
			st = lmi_engine_picture_digest(e, to, p->digests[p->n_part], err);
			if (st != LMD_OK)
				return st;
			to->digest = p->digests[p->n_part++];
		}
	return LMD_OK;
}

void lmi_svc_pictures_fini(struct lmi_svc_pictures *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		lmi_picture_layout_fini(&p->layouts[i]);
		lmi_free(p->chat[i].parts);
	}
	lmi_free(p->layouts);
	lmi_free(p->chat);
	lmi_free(p->parts);
	lmi_free(p->digests);
	*p = (struct lmi_svc_pictures){0};
}
