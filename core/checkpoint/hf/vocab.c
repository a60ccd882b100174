/* SPDX-License-Identifier: MIT
 *
 * The vocabulary.  core/checkpoint/tokenizer reads the tokenizer of the folder; this file adapts it
 * to the model, whose embedding may have more or fewer rows than there are tokens, and takes the
 * tokens that end a text from generation_config.json. */
#include <string.h>

#include "core/base/arena.h"
#include "core/checkpoint/hf/checkpoint_impl.h"
#include "core/checkpoint/hf/sampling.gen.h"
#include "core/checkpoint/tokenizer/hf_tokenizer.h"
#include "llamad/sampler.h"

#define GENERATION_BYTES (1u << 20)
#define GENERATION_NODES 65536u

/* Returns a copy of n items, extended with zeros or truncated to n_new. */
static void *resized(struct lmi_checkpoint *f, const void *p, uint32_t n, uint32_t n_new,
		     size_t bytes)
{
	char *q = lmi_checkpoint_alloc(f, n_new, bytes);

	if (q && p)
		memcpy(q, p, (n < n_new ? n : n_new) * bytes);
	return q;
}

/* Makes the number of tokens equal to the rows of the embedding. */
static void fit(struct lmi_checkpoint *f, struct lmd_tok_spec *s, uint32_t n)
{
	int32_t *const ids[] = {&s->bos,     &s->eos,     &s->eot,     &s->eom,     &s->unk,
				&s->sep,     &s->pad,     &s->cls,     &s->mask,    &s->fim_pre,
				&s->fim_suf, &s->fim_mid, &s->fim_pad, &s->fim_rep, &s->fim_sep};
	uint32_t old = s->n_tokens;
	uint8_t *type;

	if (old == n || !s->text)
		return;
	s->text = resized(f, s->text, old, n, sizeof(*s->text));
	if (s->score)
		s->score = resized(f, s->score, old, n, sizeof(*s->score));
	if (s->added)
		s->added = resized(f, s->added, old, n, 1);
	type = resized(f, s->type, old, n, 1);
	if (type && s->type && n > old)
		memset(type + old, LMD_TOKEN_UNUSED, n - old);
	s->type = s->type ? type : NULL;
	s->n_tokens = n;
	for (size_t i = 0; i < LMD_LEN(ids); i++)
		if (*ids[i] >= (int32_t)n)
			*ids[i] = -1;
	for (uint32_t i = 0; i < s->n_prefix; i++)
		if (s->prefix[i] >= (int32_t)n)
			lmi_checkpoint_fail(
				f, LMD_INVALID,
				"%s: token %d is added before every text, but the model "
				"has only %u tokens",
				f->dir, s->prefix[i], n);
	for (uint32_t i = 0; i < s->n_suffix; i++)
		if (s->suffix[i] >= (int32_t)n)
			lmi_checkpoint_fail(
				f, LMD_INVALID,
				"%s: token %d is added after every text, but the model has "
				"only %u tokens",
				f->dir, s->suffix[i], n);
}

/* Adds the ids that end a text, a number or a list.  The tokenizer's own id stays the first. */
static void end_ids(struct lmi_checkpoint *f, struct lmd_tok_spec *s, const struct lmi_json_node *v)
{
	const struct lmi_json_node *e =
		lmi_json_node_is(v, LMI_JSON_ARRAY) ? lmi_json_node_first(v) : v;
	uint32_t n = lmi_json_node_is(v, LMI_JSON_ARRAY) ? v->n : 1;
	int32_t *const to[] = {&s->eos, &s->eot, &s->eom};

	for (uint32_t i = 0; v && i < n; i++, e = lmi_json_node_next(e)) {
		int64_t id;
		bool known = false;

		if (e->type == LMI_JSON_NULL)
			continue;
		if (!lmi_json_node_int(e, 0, (int64_t)s->n_tokens - 1, &id)) {
			lmi_checkpoint_fail(f, LMD_INVALID,
					    "%s: \"eos_token_id\" is %s, must be a token in 0..%u",
					    f->dir, lmi_json_node_kind(e), s->n_tokens - 1);
			return;
		}
		for (size_t k = 0; k < LMD_LEN(to); k++)
			known = known || *to[k] == (int32_t)id;
		for (size_t k = 0; !known && k < LMD_LEN(to); k++) {
			if (*to[k] >= 0)
				continue;
			*to[k] = (int32_t)id;
			known = true;
		}
	}
}

static void begin_id(struct lmd_tok_spec *s, const struct lmi_json_node *v)
{
	int64_t id;

	if (s->bos < 0 && lmi_json_node_int(v, 0, (int64_t)s->n_tokens - 1, &id))
		s->bos = (int32_t)id;
}

/* Adds a list of tokens; null and anything else are left out. */
static void token_list(struct lmi_checkpoint *f, const char *key, const struct lmi_json_node *v)
{
	const struct lmi_json_node *e;
	uint32_t n = 0;
	int64_t *id;

	if (!lmi_json_node_is(v, LMI_JSON_ARRAY) || !v->n)
		return;
	id = lmi_checkpoint_alloc(f, v->n, sizeof(*id));
	e = lmi_json_node_first(v);
	for (uint32_t i = 0; id && i < v->n; i++, e = lmi_json_node_next(e))
		n += lmi_json_node_int(e, 0, INT32_MAX, &id[n]);
	if (id && n)
		lmi_checkpoint_put_ints(f, key, id, n);
}

/* Adds sampling defaults under the key names of GGUF files. */
static void sampling(struct lmi_checkpoint *f)
{
#define ROW(name_, key_, type_) {name_, "@" key_, LMD_PARAM_##type_},
	static const struct {
		const char *name, *key;
		enum lmd_param_type type;
	} rows[] = {LMI_CHECKPOINT_SAMPLING(ROW)};
#undef ROW
	const struct lmi_json_node *o = f->generation.root;
	double d;

	for (size_t i = 0; i < LMD_LEN(rows); i++) {
		if (rows[i].type == LMD_PARAM_TOKENS) {
			token_list(f, rows[i].key, lmi_json_node_get(o, rows[i].name));
			continue;
		}
		if (!lmi_json_node_real(lmi_json_node_get(o, rows[i].name), &d) ||
		    !(d >= 0 && d < 1e6))
			continue;
		if (rows[i].type == LMD_PARAM_INT)
			lmi_checkpoint_put_i32(f, rows[i].key, (int64_t)d);
		else
			lmi_checkpoint_put_f32(f, rows[i].key, d);
	}
}

void lmi_checkpoint_read_generation(struct lmi_checkpoint *f)
{
	if (f->status == LMD_OK)
		f->status = lmi_checkpoint_read_json(f, "generation_config.json", true,
						     GENERATION_BYTES, GENERATION_NODES,
						     &f->generation);
	if (f->status == LMD_OK && f->generation.root)
		sampling(f);
}

void lmi_checkpoint_read_vocab(struct lmi_checkpoint *f)
{
	struct lmd_tok_spec *s = &f->m->tok;
	uint32_t n = s->n_tokens; /* from the key vocab_size */
	const char *arch = s->arch, *name = s->model;

	if (f->status != LMD_OK)
		return;
	f->status = lmi_hf_tokenizer_open(&f->tokenizer, f->dir, f->err);
	if (f->status == LMD_NOTFOUND) { /* a model without a tokenizer can still compute */
		f->status = LMD_OK;
		return;
	}
	if (f->status != LMD_OK)
		return;
	*s = *lmi_hf_tokenizer_spec(f->tokenizer);
	s->arch = arch;
	s->model = name;
	f->m->view.chat_template = lmi_hf_tokenizer_template(f->tokenizer);
	fit(f, s, n);
	if (f->status != LMD_OK || !s->n_tokens)
		return;
	end_ids(f, s, lmi_json_node_get(f->generation.root, "eos_token_id"));
	end_ids(f, s, lmi_checkpoint_config_find(f, "eos_token_id"));
	begin_id(s, lmi_checkpoint_config_find(f, "bos_token_id"));
}
