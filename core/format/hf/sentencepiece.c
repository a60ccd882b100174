/* SPDX-License-Identifier: MIT
 *
 * Reads tokenizer.model, a protobuf message of SentencePiece.  These fields are used, by number:
 *
 *     1 a piece: 1 text, 2 score, 3 type (as enum lmd_token_kind)
 *     2 the trainer: 3 model (1 unigram, 2 BPE), 24 spaces are suffixes, 40-43 the ids of
 *       unknown, begin, end, padding
 *     3 the normalizer: 2 character table, 3 space prefix, 4 merge spaces, 5 escape spaces
 *
 * All others are skipped.  Field numbers and wire types are those of the protobuf encoding. */
#include <math.h>
#include <string.h>

#include "core/format/hf/reader.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { UNIGRAM = 1, BPE = 2 };

struct message {
	const uint8_t *begin, *p, *end; /* begin: start of the file, for error messages */
};

struct field {
	uint32_t number, wire;
	uint64_t v;        /* VARINT, FIXED32, FIXED64 */
	struct message in; /* BYTES */
};

static enum lmd_status bad_field(const struct message *m, struct lmd_error *err)
{
	return lmd_fail(err, LMD_CORRUPT, "byte %zu: not a field of a SentencePiece model",
			(size_t)(m->p - m->begin));
}

static bool varint(struct message *m, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; shift < 64 && m->p < m->end; shift += 7) {
		uint8_t b = *m->p++;

		*v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return true;
	}
	return false;
}

static bool fixed(struct message *m, size_t bytes, uint64_t *v)
{
	if ((size_t)(m->end - m->p) < bytes)
		return false;
	*v = 0;
	for (size_t i = bytes; i--;)
		*v = *v << 8 | m->p[i];
	m->p += bytes;
	return true;
}

/* Reads the next field; at the end of the message the field number is 0. */
static enum lmd_status next(struct message *m, struct field *f, struct lmd_error *err)
{
	uint64_t tag, n;
	bool ok;

	memset(f, 0, sizeof(*f));
	if (m->p == m->end)
		return LMD_OK;
	ok = varint(m, &tag) && tag >> 3 && tag >> 3 <= UINT32_MAX;
	if (!ok)
		return bad_field(m, err);
	f->number = (uint32_t)(tag >> 3);
	f->wire = tag & 7;
	switch (f->wire) {
	case VARINT:
		ok = varint(m, &f->v);
		break;
	case FIXED32:
	case FIXED64:
		ok = fixed(m, f->wire == FIXED32 ? 4 : 8, &f->v);
		break;
	case BYTES:
		ok = varint(m, &n) && n <= (uint64_t)(m->end - m->p);
		if (ok) {
			f->in = (struct message){m->begin, m->p, m->p + n};
			m->p += n;
		}
		break;
	default:
		ok = false;
	}
	return ok ? LMD_OK : bad_field(m, err);
}

static enum lmd_status read_piece(struct lmi_hf_tokenizer *h, struct message m,
				  struct lmd_error *err)
{
	struct lmi_hf_entry e = {.in_model = true, .type = LMD_TOKEN_NORMAL}, *to;
	enum lmd_status st;
	struct field f;
	float score;

	while ((st = next(&m, &f, err)) == LMD_OK && f.number) {
		if (f.number == 1 && f.wire == BYTES) {
			e.text =
				(struct lmd_str){(const char *)f.in.p, (size_t)(f.in.end - f.in.p)};
		} else if (f.number == 2 && f.wire == FIXED32) {
			uint32_t bits = (uint32_t)f.v;

			memcpy(&score, &bits, sizeof(score));
			e.score = (double)score;
		} else if (f.number == 3 && f.wire == VARINT) {
			e.type = f.v >= 1 && f.v <= LMD_TOKEN_BYTE ? (uint8_t)f.v : 0;
		}
	}
	if (st != LMD_OK)
		return st;
	if (!e.type || isnan(e.score))
		return lmd_fail(err, LMD_CORRUPT, "piece %zu: invalid type or score", h->entries.n);
	if (h->entries.n == LMI_HF_MAX_VOCAB)
		return lmd_fail(err, LMD_INVALID, "more than %u pieces", LMI_HF_MAX_VOCAB);
	e.id = (uint32_t)h->entries.n;
	to = lmi_hf_push(&h->entries, sizeof(*to));
	if (!to)
		return lmi_hf_no_memory(err);
	*to = e;
	return LMD_OK;
}

static enum lmd_status read_trainer(struct lmi_hf_tokenizer *h, struct message m, uint64_t *model,
				    struct lmd_error *err)
{
	int32_t *const ids[] = {&h->spec.unk, &h->spec.bos, &h->spec.eos, &h->spec.pad};
	enum lmd_status st;
	struct field f;

	while ((st = next(&m, &f, err)) == LMD_OK && f.number) {
		if (f.wire != VARINT)
			continue;
		if (f.number == 3)
			*model = f.v;
		else if (f.number == 24)
			h->spec.treat_whitespace_as_suffix = f.v != 0;
		else if (f.number >= 40 && f.number <= 43)
			*ids[f.number - 40] = f.v <= INT32_MAX ? (int32_t)f.v : -1;
	}
	return st;
}

static enum lmd_status read_normalizer(struct lmi_hf_tokenizer *h, struct message m,
				       struct lmd_error *err)
{
	int8_t *const flags[] = {&h->spec.add_space_prefix, &h->spec.remove_extra_whitespaces,
				 &h->spec.escape_whitespaces};
	enum lmd_status st;
	struct field f;

	while ((st = next(&m, &f, err)) == LMD_OK && f.number) {
		if (f.number == 2 && f.wire == BYTES)
			h->spec.charsmap = (struct lmd_str){(const char *)f.in.p,
							    (size_t)(f.in.end - f.in.p)};
		else if (f.number >= 3 && f.number <= 5 && f.wire == VARINT)
			*flags[f.number - 3] = f.v != 0;
	}
	return st;
}

enum lmd_status lmi_hf_read_sentencepiece(struct lmi_hf_tokenizer *h, const char *data,
					  size_t bytes, struct lmd_error *err)
{
	const uint8_t *p = (const uint8_t *)data;
	struct message m = {p, p, p + bytes};
	struct lmd_tokspec *s = &h->spec;
	uint64_t model = UNIGRAM;
	enum lmd_status st;
	struct field f;

	/* defaults of SentencePiece for absent fields */
	s->unk = 0;
	s->bos = 1;
	s->eos = 2;
	s->add_bos = s->add_eos = s->add_sep = -1;
	s->add_space_prefix = s->remove_extra_whitespaces = s->escape_whitespaces = 1;
	while ((st = next(&m, &f, err)) == LMD_OK && f.number) {
		if (f.wire != BYTES)
			continue;
		if (f.number == 1)
			st = read_piece(h, f.in, err);
		else if (f.number == 2)
			st = read_trainer(h, f.in, &model, err);
		else if (f.number == 3)
			st = read_normalizer(h, f.in, err);
		if (st != LMD_OK)
			return st;
	}
	if (st != LMD_OK)
		return st;
	if (!h->entries.n)
		return lmd_fail(err, LMD_CORRUPT, "no pieces: not a SentencePiece model");
	if (model != UNIGRAM && model != BPE)
		return lmd_fail(err, LMD_UNSUPPORTED,
				"SentencePiece model type %llu, must be 1 (unigram) or 2 (BPE)",
				(unsigned long long)model);
	s->kind = model == BPE ? "llama" : "t5";
	return LMD_OK;
}

/* Reads {"text": id, ...} of an added_tokens.json. */
static enum lmd_status read_added(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	struct lmi_jr_item it;
	enum lmd_status st = lmi_hf_want(h, &it, LMI_JR_OBJECT, "an object", err);
	struct lmi_hf_entry *to;
	int64_t id;

	while (lmi_jr_more(&h->json, LMI_JR_OBJECT_END, &it, &st, err)) {
		struct lmi_hf_entry e = {.added = LMD_ADDED_TOKEN, .type = LMD_TOKEN_USER_DEFINED};

		st = lmi_hf_text(h, &it, true, &e.text, err);
		if (st == LMD_OK)
			st = lmi_jr_next(&h->json, &it, err);
		if (st == LMD_OK && (!lmi_jr_int(&it, &id) || id < 0 || id >= LMI_HF_MAX_VOCAB))
			st = lmd_fail(err, LMD_CORRUPT,
				      "byte %zu: the id of an added token must be 0..%u",
				      lmi_jr_pos(&h->json), LMI_HF_MAX_VOCAB - 1);
		if (st != LMD_OK)
			break;
		e.id = (uint32_t)id;
		to = lmi_hf_push(&h->entries, sizeof(*to));
		if (!to)
			return lmi_hf_no_memory(err);
		*to = e;
	}
	return st;
}

static enum lmd_status fill(struct lmi_hf_tokenizer *h, struct lmd_error *err)
{
	const struct lmi_hf_entry *e = h->entries.p;
	struct lmd_tokspec *s = &h->spec;
	int32_t *const ids[] = {&s->unk, &s->bos, &s->eos, &s->pad};
	struct lmd_str *text;
	uint8_t *type;
	float *score;
	uint32_t n;

	if (!lmi_hf_count_ids(h, &n))
		return lmd_fail(err, LMD_CORRUPT, "token id %u, but there are only %zu tokens",
				n - 1, h->entries.n);
	text = lmi_arena_array(h->arena, n, sizeof(*text));
	type = lmi_arena_array(h->arena, n, 1);
	score = lmi_arena_array(h->arena, n, sizeof(*score));
	if (!text || !type || !score)
		return lmi_hf_no_memory(err);
	memset(type, LMD_TOKEN_UNUSED, n);
	for (size_t i = 0; i < h->entries.n; i++) {
		bool known = text[e[i].id].ptr != NULL;

		text[e[i].id] = e[i].text;
		if (!known || type[e[i].id] == LMD_TOKEN_NORMAL)
			type[e[i].id] = e[i].type;
		if (e[i].in_model)
			score[e[i].id] = (float)e[i].score;
	}
	s->n_tokens = n;
	s->text = text;
	s->type = type;
	s->score = score;
	for (size_t i = 0; i < LMD_LEN(ids); i++)
		if (*ids[i] >= (int32_t)n)
			*ids[i] = -1;
	/* tokens that this kind adds by default must exist */
	if (s->bos < 0)
		s->add_bos = 0;
	if (s->eos < 0)
		s->add_eos = 0;
	return LMD_OK;
}

enum lmd_status lmi_hf_finish_sentencepiece(struct lmi_hf_tokenizer *h, const char *added,
					    struct lmd_error *err)
{
	struct lmi_map map = {0};
	bool found = false;
	enum lmd_status st = added ? lmi_hf_read_file(&map, added, &found, err) : LMD_OK;

	if (st == LMD_OK && found) {
		lmi_jr_init(&h->json, (const char *)map.ptr, map.bytes);
		st = read_added(h, err);
		if (st != LMD_OK)
			lmd_error_prefix(err, "added_tokens.json");
	}
	lmi_map_close(&map);
	if (st == LMD_OK)
		st = fill(h, err);
	lmi_free(h->entries.p);
	h->entries = (struct lmi_hf_list){NULL, 0, 0};
	return st;
}

enum lmd_status lmi_hf_parse_sentencepiece(struct lmi_hf_tokenizer *h, const char *data,
					   size_t bytes, struct lmd_error *err)
{
	enum lmd_status st = lmi_hf_read_sentencepiece(h, data, bytes, err);

	return st == LMD_OK ? lmi_hf_finish_sentencepiece(h, NULL, err) : st;
}
