/* SPDX-License-Identifier: MIT
 *
 * An architecture in one page: the next token depends only on the current one.
 *     logits(t) = output * token_embd[token[t]]
 * Model files select it by general.architecture = "bigram".  They have the key
 * bigram.embedding_length and the tensors token_embd.weight and output.weight, both
 * [embedding_length, vocabulary]. */
#include <llamad/arch.h>
#include <llamad/plugin.h>

/* Symbols of the tensor table. */
enum { DIM_EMBD = 1, DIM_VOCAB = 2 };

static const struct lmd_tensor_row tensor_rows[] = {
	{.stem = "token_embd", .dims = {DIM_EMBD, DIM_VOCAB},
	 .flags = LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL, .split = LMD_SPLIT_REPLICATE},
	{.stem = "output", .dims = {DIM_EMBD, DIM_VOCAB},
	 .flags = LMD_TENSOR_REQUIRED | LMD_TENSOR_GLOBAL, .split = LMD_SPLIT_ROWS},
};
static const struct lmd_tensor_set sets[] = {
	{.rows = tensor_rows, .n_rows = LMD_LEN(tensor_rows)},
};

struct state {
	uint32_t n_embd, n_vocab;
};

static enum lmd_status bigram_describe(const struct lmd_host *host, struct lmd_arena *arena,
				       const struct lmd_model *model,
				       const struct lmd_arch_params *params,
				       struct lmd_arch_desc *out, struct lmd_error *err)
{
	const struct lmd_meta *width = model->find_meta(model, "bigram.embedding_length");
	const struct lmd_tensor *embd = model->find_tensor(model, "token_embd.weight");
	struct state *s;

	(void)params;
	if (!width || width->type != LMD_META_I64)
		return lmd_fail(err, LMD_NOTFOUND, "bigram.embedding_length is missing");
	if (width->v.i < 1 || width->v.i > 65536)
		return lmd_fail(err, LMD_INVALID,
				"bigram.embedding_length: %lld is outside 1..65536",
				(long long)width->v.i);
	if (!embd || embd->n_dim != 2 || embd->dims[1] > 1 << 24)
		return lmd_fail(err, LMD_NOTFOUND, "token_embd.weight is missing or not a matrix");
	s = host->arena_alloc(host->ctx, arena, sizeof(*s), 16);
	if (!s)
		return lmd_fail(err, LMD_NOMEM, "bigram: out of memory");
	s->n_embd = (uint32_t)width->v.i;
	s->n_vocab = (uint32_t)embd->dims[1];
	out->n_vocab = s->n_vocab;
	out->n_embd = out->n_embd_out = out->n_input_embd = s->n_embd;
	out->n_ctx_train = 4096; /* positions do not matter */
	out->driver = LMD_DRIVER_AUTOREGRESSIVE;
	out->pooling = LMD_POOL_UNSET;
	out->decoder_start = out->mask_token = -1;
	out->n_variant = 1;
	out->state = s;
	return LMD_OK;
}

static int64_t bigram_dim(const void *state, uint32_t symbol, int32_t layer)
{
	const struct state *s = state;

	(void)layer;
	return symbol == DIM_EMBD ? s->n_embd : symbol == DIM_VOCAB ? s->n_vocab : 0;
}

/* Returns a reference to the matrix in tensor `name` of the model. */
static uint32_t matrix(const struct lmd_builder *b, const char *name)
{
	const struct lmd_tensor *t = b->model->find_tensor(b->model, name);
	struct lmd_wpart part = {.kind = LMD_WPART_TENSOR};
	struct lmd_wref w = {.struct_size = sizeof(w), .n_part = 1, .parts = &part,
			     .split = LMD_SPLIT_REPLICATE, .n_stack = 1, .scale = LMD_NONE,
			     .bias = LMD_NONE, .name = name};

	if (!t) {
		b->fail(b->ctx, LMD_NOTFOUND, "%s is missing", name);
		return LMD_NONE;
	}
	part.tensor = (uint32_t)(t - b->model->tensors);
	return b->wref(b->ctx, &w);
}

static struct lmd_opnd columns(uint32_t value, uint32_t width)
{
	return (struct lmd_opnd){.src = LMD_SRC_VALUE, .id = value, .n_head = 1, .width = width};
}

static enum lmd_status bigram_build(const void *state, const struct lmd_builder *b,
				    const struct lmd_plan_key *key)
{
	const struct state *s = state;
	struct lmd_op op = {.code = LMD_OP_EMBED};
	uint32_t x, logits;

	if (key->kind != LMD_PLAN_FORWARD || !(key->flags & LMD_PLAN_LOGITS))
		return LMD_UNSUPPORTED;
	b->layer(b->ctx, -1);
	x = b->value(b->ctx, LMD_SPACE_TOKENS, LMD_VTYPE_F32, s->n_embd, "x");
	logits = b->value(b->ctx, LMD_SPACE_OUTPUTS, LMD_VTYPE_F32, s->n_vocab, "logits");

	op.u.embed = (struct lmd_op_embed){
		.y = columns(x, s->n_embd), .table = matrix(b, "token_embd.weight"),
		.idx_kind = LMD_IDX_TOKEN, .n_id = 1, .scale = 1, .neg = LMD_NEG_ZERO,
		.pos_table = LMD_NONE, .type_table = LMD_NONE, .lora_site = LMD_NONE};
	b->op(b->ctx, &op);

	op.code = LMD_OP_HEAD;
	op.u.head = (struct lmd_op_head){
		.x = columns(x, s->n_embd), .w = matrix(b, "output.weight"), .bias = LMD_NONE,
		.y = columns(logits, s->n_vocab), .scale = 1, .lora_site = LMD_NONE};
	b->op(b->ctx, &op);
	b->output(b->ctx, LMD_OUT_LOGITS, logits);
	return b->status(b->ctx);
}

static const struct lmd_arch_ops ops = {
	.struct_size = sizeof(struct lmd_arch_ops),
	.n_sets = LMD_LEN(sets),
	.sets = sets,
	.describe = bigram_describe,
	.dim = bigram_dim,
	.build = bigram_build,
};

static const struct lmd_factory factories[] = {{
	.struct_size = sizeof(struct lmd_factory),
	.kind = LMD_KIND_ARCH,
	.name = "bigram",
	.ops = &ops,
}};

LMD_PLUGIN_DEFINE("arch-bigram", "1.0", "MIT", LMD_KIND_BIT(LMD_KIND_ARCH), factories)
