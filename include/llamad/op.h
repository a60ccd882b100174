/* SPDX-License-Identifier: MIT
 *
 * op.h - the closed list of operations that a plan may contain.
 *
 * Every op works on whole batches: its rows are the live rows of its row space in this step.  The
 * `ref` backend implements each op from the formula given here, and every other backend is checked
 * against `ref`.  Arithmetic is in f32 unless stated otherwise; sums may be taken in any order.
 *
 * Notation: T, O, S = number of rows of TOKENS, OUTPUTS, SEQS in this step; r = row; t = row of
 * TOKENS.  A weight is written [N, K]: N rows of K values, K contiguous (dims[0] in the file).
 *
 * Operands.  A value is a row-major matrix (row space x width).  An operand is a window of it:
 *
 *     element (row, h, c) = value[row][col0 + h*head_stride + c],  h < n_head, c < width
 *
 * Plain columns have n_head = 1; head_stride 0 repeats one head.  With fold f > 1, the value is
 * first reinterpreted as rows/f rows of f*W columns (W is its width; the row order is kept).  A
 * WEIGHT operand has one row, which is used for all rows; its columns are the elements of the
 * weight in order.  Where an op says "each (row, head) is a row", the op treats heads as further
 * rows.  Outputs are windows with src VALUE; every column of a value is written by exactly one op.
 *
 * Adapters.  In plans with LMD_PLAN_LORA, a weight with a lora_site computes x W^T + l instead of
 * x W^T for every row that has an adapter slot s.  The slot of a row is step.lora_slot of its token
 * (in OUTPUTS, of token out_row); rows of SEQS and of the X spaces have none.  At this point the
 * tensor scale of W is already applied and the op's own scale is not:
 *     l = scale_s * B_s (A_s x);  rank 0: l = scale_s * B_s
 * An adapter with a gain g_s [N] computes g_s * (x W^T + l).
 * EMBED adds scale_s * B_s A_s[:, id] to E[id], and multiplies the sum by g_s.  Stacked weights use
 * the A, B pair and the gain of the slice.
 * MOE_FFN with gate_up has one site for it, lora_site[0]. */
#ifndef LLAMAD_OP_H
#define LLAMAD_OP_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/attr.h"

LMD_BEGIN_DECLS

/* Row spaces. */
enum lmd_space {
	LMD_SPACE_TOKENS = 0,  /* all tokens of the step */
	LMD_SPACE_OUTPUTS = 1, /* the rows that are output (step.out_row) */
	LMD_SPACE_SEQS = 2,    /* the sequences of the step */
	LMD_SPACE_X0 = 3,      /* X0..X5: declared by the architecture; see step.x_off */
	LMD_SPACE_X5 = 8
};
#define LMD_N_SPACE 9

/* Element type of a value. */
enum lmd_vtype {
	LMD_VTYPE_F32 = 0, /* residual streams, logits, router scores */
	LMD_VTYPE_ACT = 1, /* the plan's act_dtype: f32 on CPUs, f16 or bf16 on GPUs */
	LMD_VTYPE_I32 = 2  /* ids and lists */
};

enum lmd_src {
	LMD_SRC_NONE = 0,   /* absent */
	LMD_SRC_VALUE = 1,  /* id = value */
	LMD_SRC_ROW_IN = 2, /* id = k: step.row_in[k]; f32 or i32 as declared; TOKENS rows */
	LMD_SRC_INPUT = 3,  /* id = external input of the plan; its own rows */
	LMD_SRC_WEIGHT = 4  /* id = weight reference */
};

struct lmd_operand {
	uint32_t src;         /* enum lmd_src */
	uint32_t id;
	uint32_t col0;
	uint32_t n_head;
	uint32_t head_stride;
	uint32_t width;
	uint32_t fold;        /* 0 or 1 = none */
};

/* "None" for ids of weight references, rope tables, caches and adapter sites. */
#define LMD_NONE UINT32_MAX

/* Activation functions.  x = gate operand, b = second operand (if absent, the factor b is omitted),
 * p = parameters.  clamp(v, l) = max(-l, min(l, v)). */
enum lmd_act_fn {
	LMD_ACT_FN_NONE = 0,       /* x */
	LMD_ACT_FN_SILU = 1,       /* x*sigmoid(x) * b */
	LMD_ACT_FN_GELU = 2,       /* 0.5x(1 + tanh(sqrt(2/pi)(x + 0.044715x^3))) * b */
	LMD_ACT_FN_GELU_ERF = 3,   /* 0.5x(1 + erf(x/sqrt 2)) * b */
	LMD_ACT_FN_GELU_QUICK = 4, /* x*sigmoid(1.702x) * b */
	LMD_ACT_FN_RELU = 5,       /* max(x, 0) * b */
	LMD_ACT_FN_RELU2 = 6,      /* max(x, 0)^2 * b */
	LMD_ACT_FN_SIGMOID = 7,
	LMD_ACT_FN_SOFTPLUS = 8, /* x > 20 ? x : log(1 + exp x) */
	LMD_ACT_FN_TANH = 9,
	LMD_ACT_FN_XIELU = 10,          /* p = alpha_n, alpha_p, beta, eps (arXiv 2411.13010):
				 * x > 0: alpha_p x^2 + beta x
				 * else:  (expm1(min(x, eps)) - x) alpha_n + beta x
				 * alphas as applied, that is, after any softplus */
	LMD_ACT_FN_OAI = 11,            /* p = alpha, limit: g = min(x, limit), u = clamp(b, limit);
				 * g*sigmoid(alpha g) * (u + 1) */
	LMD_ACT_FN_SILU_CLAMP_IN = 12,  /* p = limit: silu(min(x, limit)) * clamp(b, limit) */
	LMD_ACT_FN_SILU_CLAMP_OUT = 13, /* p = limit: min(silu(x), limit) * clamp(b, limit) */
	LMD_ACT_FN_SITU = 14,           /* p = beta, lb: u * v; u = beta tanh(x/beta) sigmoid(x),
				 * v = lb > 0 ? lb tanh(b/lb) : b */
	LMD_ACT_FN_EXP = 15
};
#define LMD_N_ACT_FN       16
#define LMD_N_ACT_FN_PARAM 4

enum lmd_norm_kind {
	LMD_NORM_NONE = 0,
	LMD_NORM_RMS = 1,   /* x / sqrt(mean(x^2) + eps) */
	LMD_NORM_LAYER = 2, /* (x - mean) / sqrt(var + eps), population variance */
	LMD_NORM_L2 = 3     /* x / max(sqrt(sum x^2), eps) */
};

/* A norm over groups of n neighbouring columns of a (row, head); n = 0: the whole width.
 * y = norm(x) * (g [+ 1]) + b.  g and b are [width] (shared by all heads) or have as many heads as
 * x; src NONE omits them. */
struct lmd_norm {
	uint32_t kind;        /* enum lmd_norm_kind */
	float eps;
	uint32_t n;
	uint32_t g_plus_one;  /* 1: multiply by g + 1 */
	struct lmd_operand g, b;
};

/* Source of the row numbers of EMBED and GATHER. */
enum lmd_row_index {
	LMD_IDX_TOKEN = 0,   /* step.token[t] */
	LMD_IDX_OPERAND = 1, /* an i32 operand (VALUE, ROW_IN, INPUT) [rows, n_id] */
	LMD_IDX_OUT_ROW = 2, /* step.out_row[o] (GATHER) */
	LMD_IDX_SEQ_OF = 3,  /* step.seq_of[t] (GATHER) */
	LMD_IDX_EXT = 4      /* token -1-r gives row r of external input 0, others -1 (GATHER) */
};

enum lmd_op_code {
	LMD_OP_EMBED = 1,
	LMD_OP_NORM = 2,
	LMD_OP_LINEAR = 3,
	LMD_OP_ROPE_KV = 4,
	LMD_OP_ATTN = 5,
	LMD_OP_GLU = 6,
	LMD_OP_FFN = 7,
	LMD_OP_HEAD = 8,
	LMD_OP_SAMPLE = 9,
	LMD_OP_EW = 10,
	LMD_OP_ROUTE = 11,
	LMD_OP_MOE_FFN = 12,
	LMD_OP_BMM = 13,
	LMD_OP_GATHER = 14,
	LMD_OP_REDUCE = 15,
	LMD_OP_SOFTMAX = 16,
	LMD_OP_CONV = 17,
	LMD_OP_SCAN = 18,
	LMD_OP_MIX = 19,
	LMD_OP_INDEX = 20,
	LMD_OP_CAST_COPY = 21,
	LMD_OP_ALLREDUCE = 22,
	LMD_OP_ALLGATHER = 23,
	LMD_OP_PATCH = 24
	/* 128..191 reserved for gradients */
};
#define LMD_N_OP 25

/* 1. EMBED (mandatory).  y[r] = scale * E[id], concatenated over the n_id ids of a row,
 * (+ P[pos + pos_off]) (+ Y[type_row]).
 * With idx TOKEN, a negative token -1-r selects, depending on `neg`: `scale_ext` * row r of
 * external input 0 (columns from ext_col0), row neg_row of E, or zeros; P and Y are added in every
 * case.  With idx OPERAND, a negative id gives zeros.  An i32 table gives an i32 value and ignores
 * the scale.  An id >= N is a bug in the host, which validates tokens beforehand. */
enum lmd_neg_token { LMD_NEG_EXTERNAL = 0, LMD_NEG_ROW = 1, LMD_NEG_ZERO = 2 };
struct lmd_op_embed {
	struct lmd_operand y; /* [rows, n_id * W] */
	uint32_t table;       /* weight E [N, W] */
	uint32_t idx_kind;    /* LMD_IDX_TOKEN or LMD_IDX_OPERAND */
	struct lmd_operand idx;
	uint32_t n_id;
	float scale;
	uint32_t pos_table;   /* weight P [n, W] or LMD_NONE */
	int32_t pos_off;
	struct lmd_operand pos; /* NONE: step.pos[0]; otherwise an i32 operand [rows, 1] */
	uint32_t type_table;  /* weight Y or LMD_NONE */
	uint32_t type_row;
	uint32_t neg; /* enum lmd_neg_token */
	uint32_t neg_row;
	float scale_ext;
	uint32_t ext_col0;
	uint32_t lora_site;
};

/* 2. NORM (mandatory).  h = x + a*r (r absent: h = x); y = norm(h).  Each (row, head) is a row.
 * over_rows = 1: mean and deviation are taken over all rows of the sequence as well (GroupNorm over
 * time); x then has one head and n divides its width. */
struct lmd_op_norm {
	struct lmd_operand x;
	struct lmd_operand r; /* or NONE */
	float a;
	uint32_t over_rows;
	struct lmd_operand h;    /* output or NONE */
	struct lmd_operand y;    /* output */
	struct lmd_operand stat; /* output [rows, groups*2]: mean (0 for RMS and L2), 1/sigma; or
			       * NONE */
	struct lmd_norm norm;
};

/* 3. LINEAR (mandatory).  For each i < n_w, with n(x) = pro(x):
 *     v = scale * s_i * (n(x) W_i^T) + b_i;  v = act(v);  v = softcap * tanh(v / softcap);
 *     v = min(max(v, clamp_lo), clamp_hi);  y_i = v;  r_out_i = r_in_i + a*v
 * s_i and b_i are the scale and bias of the weight reference.  softcap 0: none.
 * clamp_lo = clamp_hi = 0: none.  Each (row, head) is a row: x and y_i have equally many heads.
 * With ids [rows, k], W_i is stacked [E, N, K]; y_i has k heads of N, and head j uses slice
 * ids[r, j] (negative: zeros); x has either one head for all slices or k heads.  Scale and bias are
 * per slice. */
#define LMD_LINEAR_MAX 4
struct lmd_op_linear {
	struct lmd_operand x;
	uint32_t n_w;
	uint32_t act; /* enum lmd_act_fn, without b */
	uint32_t w[LMD_LINEAR_MAX];
	struct lmd_operand y[LMD_LINEAR_MAX];     /* or NONE when only r_out is wanted */
	struct lmd_operand r_in[LMD_LINEAR_MAX];  /* or NONE */
	struct lmd_operand r_out[LMD_LINEAR_MAX]; /* or NONE */
	struct lmd_norm pro;
	float scale;
	float a;
	float softcap;
	float clamp_lo, clamp_hi;
	float p[LMD_N_ACT_FN_PARAM];
	struct lmd_operand ids; /* i32, or NONE */
	uint32_t lora_site[LMD_LINEAR_MAX];
};

/* 4. ROPE_KV (mandatory).  For each head of q and k: a norm before or after (or none) the rotation
 * of columns rot0..rot0+n_rot with rope table `rope` at the row's position, times `sign`.
 * Then q is written to q_out and k to k_out, and k and v are appended to the cache at step.slot of
 * its group (slot -1: not stored).  A pair (x0, x1) is rotated by angle = sign * pos[plane] * freq:
 *     (x0 cos - x1 sin, x0 sin + x1 cos) * magnitude
 * Columns outside the rotated range are copied.  Any of q, k, v may be absent. */
enum lmd_qk_norm { LMD_QKN_NONE = 0, LMD_QKN_BEFORE = 1, LMD_QKN_AFTER = 2 };
#define LMD_APPEND_K 1u
#define LMD_APPEND_V 2u
struct lmd_op_rope_kv {
	struct lmd_operand q, k, v;      /* inputs; heads of dk, dk, dv */
	struct lmd_operand q_out, k_out; /* or NONE */
	struct lmd_norm qn, kn;
	uint32_t norm_when;   /* enum lmd_qk_norm */
	uint32_t rope;        /* rope table of the plan, or LMD_NONE */
	uint32_t rot0;
	float sign;           /* 1, or -1 for the inverse rotation */
	struct lmd_operand
		pos;          /* NONE: step.pos by plane; otherwise i32 [rows, 1] for every plane */
	uint32_t cache;       /* or LMD_NONE */
	uint32_t append;      /* LMD_APPEND_*; K_ONLY and V_IN_K caches store K only */
};

/* 5. ATTN (mandatory).  For row t and head h, over the keys j of all sources in one softmax:
 *     s_j = cap(scale * q.k_j + bias) ;  y = sum_j softmax(s)_j v_j
 * cap(x) = softcap * tanh(x / softcap); softcap 0: none.  A sink adds the score sink[h] to the
 * denominator and has no value.  A row that sees no key gives zeros.  Head h uses key head
 * h / (H/H_kv) (BLOCK) or h mod H_kv (CYCLE).
 *
 * The keys of a source are those of the row's own sequence in the interval [kv_lo, kv_hi) of the
 * source's group.  CACHE: the logical rows of the cache, addressed by the page table of its group.
 * ROWS: the rows of this step in the k operand's row space, counted from the sequence's first row.
 * With `list`, only the listed keys are used; an entry e stands for the keys e*unit ..
 * e*unit+unit-1, clipped to the interval.  Entries of -1 are skipped, and no entry occurs twice.
 * The position of a key is its logical row times the group's ratio (CACHE) or step.pos[0] of its
 * row (ROWS; in an X space, the row number).
 *
 * Bias: ALIBI  minus slope[h] * |pos_q - pos_k|
 *       BUCKET weight[bucket(pos_k - pos_q)][h] (T5, arXiv 1910.10683, section 2.1)
 *       REL    sum over terms of q2.R[clamp(pos_q[plane] - pos_k[plane] + off, 0, n-1)] */
enum lmd_kv_src { LMD_KV_NONE = 0, LMD_KV_CACHE = 1, LMD_KV_ROWS = 2 };
enum lmd_head_map { LMD_MAP_BLOCK = 0, LMD_MAP_CYCLE = 1 };
enum lmd_attn_bias {
	LMD_BIAS_NONE = 0, LMD_BIAS_ALIBI = 1, LMD_BIAS_BUCKET = 2, LMD_BIAS_REL = 3
};
struct lmd_attn_src {
	uint32_t kind;        /* enum lmd_kv_src */
	uint32_t cache;       /* for CACHE */
	uint32_t group;       /* group of the interval; for CACHE the cache's own group */
	uint32_t list_unit;   /* >= 1 if there is a list */
	struct lmd_operand k, v; /* for ROWS */
	struct lmd_operand list; /* i32, 1 or H_kv heads of n entries; or NONE */
};
struct lmd_attn_rel {
	struct lmd_operand q2; /* H heads of d; or NONE */
	uint32_t r;           /* weight R [n, d] */
	int32_t off;
	uint32_t plane;       /* index into step.pos */
	uint32_t reserved;
};
struct lmd_op_attn {
	struct lmd_operand q; /* H heads of dk */
	struct lmd_operand y; /* output, H heads of dv */
	uint32_t n_kv_head;
	uint32_t kv_map;      /* enum lmd_head_map */
	struct lmd_attn_src src[2];
	float scale;
	float softcap;
	uint32_t sinks;       /* weight [H] or LMD_NONE */
	uint32_t bias;        /* enum lmd_attn_bias */
	uint32_t bias_w;      /* ALIBI: slopes [H]; BUCKET: [n_bucket, H] */
	uint32_t n_bucket;
	uint32_t bidirectional; /* BUCKET: 1 = half of the buckets for each direction */
	float max_distance;   /* BUCKET */
	struct lmd_attn_rel rel[2];
	uint32_t tree;        /* 1: in plans with LMD_PLAN_TREE, step.tree masks the rows of
			       * this step */
};

/* 6. GLU (mandatory).  y = act(a, b).  Each (row, head) is a row. */
struct lmd_op_glu {
	struct lmd_operand a;
	struct lmd_operand b; /* or NONE */
	struct lmd_operand y;
	uint32_t act;
	float p[LMD_N_ACT_FN_PARAM];
};

/* 7. FFN.  n = norm(x); v = down(act(gate(n), up(n))) (without a gate: act(up(n)));
 * y = v; r_out = r_in + a*v.  Scales and biases of the weight references apply as in LINEAR. */
struct lmd_op_ffn {
	struct lmd_operand x;
	struct lmd_norm norm;
	uint32_t gate;        /* weight or LMD_NONE */
	uint32_t up, down;
	uint32_t act;
	float p[LMD_N_ACT_FN_PARAM];
	float a;
	struct lmd_operand y, r_in, r_out; /* at least one of y and r_out */
	uint32_t lora_site[3];           /* gate, up, down */
};

/* 8. HEAD (mandatory).  For the rows step.out_row of x: v = scale * (norm(x) W^T) (+ the weight
 * reference's bias); v = softcap * tanh(v / softcap); y = v + bias.  y is a value over OUTPUTS. */
struct lmd_op_head {
	struct lmd_operand x; /* over TOKENS */
	struct lmd_norm norm;
	uint32_t w;
	uint32_t bias;        /* weight [V] or LMD_NONE; -INFINITY bans an id */
	struct lmd_operand y;
	float scale;
	float softcap;
	uint32_t lora_site;
};

/* 9. SAMPLE (TAIL plans only).  The sampler chain as an array of stages; every stage reads its
 * parameters from columns of the external input `params` (f32, one row per output row).  Random
 * numbers are lmd_sample_rand(seed, step, 0), with seed and step from `rng` (i32 [O, 4], low word
 * first).  Ties go to the lower id.  Candidates stay in id order until TOP_K (0 < k < V) or TOP_P
 * (p < 1) sorts them, best first; probabilities are summed in that order: TOP_P keeps the shortest
 * prefix whose f32 sum is >= p, DIST takes the first candidate whose running sum exceeds
 * draw * total.  The chosen token also becomes the last token of the row's sequence
 * (LMD_TOKEN_CHAINED). */
enum lmd_sample_stage {
	LMD_STAGE_PENALTIES = 1,   /* columns: repeat, frequency, presence; ids from `history` */
	LMD_STAGE_TEMPERATURE = 2, /* t; <= 0 keeps only the greatest logit */
	LMD_STAGE_TOP_K = 3,       /* k; <= 0: all */
	LMD_STAGE_TOP_P = 4,
	LMD_STAGE_MIN_P = 5,
	LMD_STAGE_GREEDY = 6,      /* final stage: choose the greatest */
	LMD_STAGE_DIST = 7         /* final stage: choose at random */
};
#define LMD_SAMPLE_STAGES 8
struct lmd_op_sample {
	struct lmd_operand logits;  /* [O, V] */
	struct lmd_operand params;  /* INPUT */
	struct lmd_operand rng;     /* INPUT i32 */
	struct lmd_operand mask;    /* INPUT i32 [O, ceil(V/32)], bit set = allowed; or NONE */
	struct lmd_operand history; /* INPUT i32 [O, h], -1 = none; or NONE */
	uint32_t n_stage;
	uint32_t stage[LMD_SAMPLE_STAGES];     /* enum lmd_sample_stage */
	uint32_t param_col[LMD_SAMPLE_STAGES]; /* first parameter column of each stage */
	struct lmd_operand token;              /* i32 [O, 1] */
	struct lmd_operand top_id; /* i32 [O, n] or NONE: the n best candidates before any stage
				  * except penalties */
	struct lmd_operand top_lp; /* f32 [O, n]: their log probabilities; or NONE */
};

/* 10. EW (mandatory).  A straight-line program that runs for every element.  Registers 0..7 hold
 * the inputs, 8..31 are free; an instruction writes dst from a, b, c.  Inputs whose row space, head
 * count or width is 1 are broadcast; the outputs determine the sizes.  i32 inputs are converted to
 * f32.  In a TOKENS program, an input over SEQS is read through step.seq_of. */
enum lmd_ew {
	LMD_EW_CONST = 0,    /* immediate `imm` */
	LMD_EW_ADD = 1, LMD_EW_SUB = 2, LMD_EW_MUL = 3, LMD_EW_DIV = 4,
	LMD_EW_FMA = 5,      /* a*b + c */
	LMD_EW_MIN = 6, LMD_EW_MAX = 7, LMD_EW_ABS = 8,
	LMD_EW_SIGN = 9,     /* -1, 0, 1 */
	LMD_EW_LT = 10, LMD_EW_LE = 11, LMD_EW_EQ = 12, /* comparisons of a and b, giving 1 or 0 */
	LMD_EW_SELECT = 13,  /* a != 0 ? b : c */
	LMD_EW_ROUND = 14,   /* ties to even */
	LMD_EW_EXP = 15, LMD_EW_SQRT = 16, LMD_EW_RSQRT = 17, LMD_EW_SIN = 18, LMD_EW_COS = 19,
	LMD_EW_TANH = 20, LMD_EW_SIGMOID = 21, LMD_EW_SILU = 22, LMD_EW_SOFTPLUS = 23,
	LMD_EW_ERF = 24
};
#define LMD_N_EW 25
#define LMD_EW_MAX_INS 24
#define LMD_EW_MAX_IN 8
#define LMD_EW_MAX_REG 32
struct lmd_ew_ins {
	uint8_t op, dst, a, b, c;
	uint8_t reserved[3];
	float imm;
};
struct lmd_op_ew {
	uint32_t n_in, n_out, n_ins, reserved;
	struct lmd_operand in[LMD_EW_MAX_IN];
	struct lmd_operand out[2];
	uint8_t out_reg[4];   /* registers of out[0] and out[1] */
	struct lmd_ew_ins ins[LMD_EW_MAX_INS];
};

/* 11. ROUTE.  p = f(logits); choice = p (+ bias).  With groups, first the n_group_used groups with
 * the greatest sum of their two best choices are selected; then the k experts with the greatest
 * choice (ties: lower id), best first.  w = p of the chosen experts; SOFTMAX_CHOSEN: softmax over
 * the chosen logits; renorm: w / max(sum w, 2^-14); then w * scale.  `given` replaces the
 * selection.  ids are divided by id_div (>= 1) when they are written.  RAW: p = logits. */
enum lmd_route_fn {
	LMD_ROUTE_SOFTMAX = 1, LMD_ROUTE_SIGMOID = 2, LMD_ROUTE_SOFTMAX_CHOSEN = 3,
	LMD_ROUTE_SQRT_SOFTPLUS = 4, LMD_ROUTE_RAW = 5
};
struct lmd_op_route {
	struct lmd_operand logits;  /* [rows, E] */
	struct lmd_operand ids;     /* i32 output [rows, k] */
	struct lmd_operand weights; /* output [rows, k] */
	struct lmd_operand given;   /* i32 [rows, k] or NONE */
	uint32_t fn;             /* enum lmd_route_fn */
	uint32_t k;
	uint32_t bias;           /* weight [E] or LMD_NONE */
	uint32_t n_group, n_group_used; /* <= 1: no groups */
	uint32_t renorm;
	uint32_t id_div;
	float scale;
};

/* 12. MOE_FFN.  v = sum_j w_j * down_e(act(gate_e(x), up_e(x))), e = ids[j] (negative: skipped).
 * weight_before = 1: v = sum_j down_e(act(gate_e(w_j x), up_e(w_j x))), not weighted again after.
 * gate_up: one stacked weight whose N = 2F rows are gate followed by up.
 * y = v; r_out = r_in + a*v.  An id may occur twice in a row. */
struct lmd_op_moe_ffn {
	struct lmd_operand x;
	struct lmd_operand ids;     /* i32 [rows, k] */
	struct lmd_operand weights; /* [rows, k] */
	uint32_t gate;           /* weight [E, F, K] or LMD_NONE */
	uint32_t up;             /* weight [E, F, K], or LMD_NONE with gate_up */
	uint32_t gate_up;        /* weight [E, 2F, K] or LMD_NONE */
	uint32_t down;           /* weight [E, D, F] */
	uint32_t act;
	float p[LMD_N_ACT_FN_PARAM];
	uint32_t weight_before;
	float a;
	struct lmd_operand y, r_in, r_out;
	uint32_t lora_site[3];
};

/* 13. BMM.  y[r, h, :] = s_h x[r, h, :] B_h^T + b_h with B stacked [H, N, K]; s and b are the scale
 * and bias of the weight reference. */
struct lmd_op_bmm {
	struct lmd_operand x; /* H heads of K */
	uint32_t w;
	struct lmd_operand y; /* H heads of N */
};

/* 14. GATHER.  y[r] = x[idx[r]]; index -1 gives zeros; n_id ids are concatenated, or summed.  x may
 * be in another row space; the rows are those of y. */
struct lmd_op_gather {
	struct lmd_operand x;
	struct lmd_operand y;
	uint32_t idx_kind; /* enum lmd_row_index except TOKEN */
	uint32_t n_id;
	uint32_t sum;
	struct lmd_operand idx;
};

/* 15. REDUCE.  SEQ: over the rows of each sequence, y over SEQS.  BLOCK: over each n consecutive
 * rows, y in a space of rows/n rows.  ROW: along the columns of each (row, head); y has width 1
 * (TOP_K: width n, greatest first, ties to the lower column).
 * ARGMAX and TOP_K write i32 columns to y and, if requested, the values to y2. */
enum lmd_reduce {
	LMD_REDUCE_MEAN = 1, LMD_REDUCE_SUM = 2, LMD_REDUCE_MAX = 3, LMD_REDUCE_FIRST = 4,
	LMD_REDUCE_LAST = 5, LMD_REDUCE_ARGMAX = 6, LMD_REDUCE_TOP_K = 7
};
enum lmd_axis { LMD_AXIS_SEQ = 1, LMD_AXIS_BLOCK = 2, LMD_AXIS_ROW = 3 };
struct lmd_op_reduce {
	struct lmd_operand x;
	struct lmd_operand y;
	struct lmd_operand y2; /* or NONE */
	uint32_t kind;        /* enum lmd_reduce */
	uint32_t axis;        /* enum lmd_axis */
	uint32_t n;
};

/* 16. SOFTMAX.  For every (row, head): softmax(scale * x).  sinkhorn n > 0: the heads of a row form
 * a matrix (heads = rows, width = columns): softmax of each row, + eps, divide columns by their sum
 * + eps; then n-1 times rows and columns alternately, each divided by its sum + eps. */
struct lmd_op_softmax {
	struct lmd_operand x, y;
	float scale;
	uint32_t sinkhorn;
	float eps;
};

/* 17. CONV, along time within each sequence.  Rows before the first come from the CONV cache's slot
 * (step.state_in; zeros if there is none), and the cache keeps the last `left` rows.
 *  DEPTHWISE  y[t,c] = act(b[c] + sum_j w[c,j] x[t - left + j*dilation, c]), j < kernel.
 *             left = (kernel-1)*dilation is causal; a smaller left centres the kernel, and rows
 *             after the sequence's last count as zeros (no cache in that case).  map = 1: over the
 *             height x width of an X space, kernel x kernel, `left` on both axes.
 *  SHIFT      y[t] = x[t - n].
 *  POOL       where step.slot[t] >= 0 for `group` (block ends): y[t] = mean over the last r rows,
 *             or, with `score`, sum softmax(score) x over them, per column.  overlap = 1: x and
 *             score have 2W columns; the r rows before the block take part with their columns
 *             [0, W), the rows of the block with [W, 2W); rows before position 0 are left out.
 *             Elsewhere y is 0.  The CONV cache keeps x and score side by side. */
enum lmd_conv { LMD_CONV_DEPTHWISE = 1, LMD_CONV_SHIFT = 2, LMD_CONV_POOL = 3 };
struct lmd_op_conv {
	struct lmd_operand x;
	struct lmd_operand score; /* POOL; or NONE */
	struct lmd_operand y;
	uint32_t kind;        /* enum lmd_conv */
	uint32_t w;           /* DEPTHWISE: weight [C, kernel], with its bias */
	uint32_t kernel, dilation, left;
	uint32_t n;           /* SHIFT: rows; POOL: r */
	uint32_t overlap;
	uint32_t map;
	uint32_t group;       /* POOL: group whose slots mark block ends */
	uint32_t act;
	float p[LMD_N_ACT_FN_PARAM];
	uint32_t cache;       /* CONV cache; LMD_NONE: within the step only */
};

/* 18. SCAN.  A recurrent mixer over each sequence.  The state is read from step.state_in and stored
 * after the rows where step.state_out >= 0.  H heads; head h reads key head h / (H/Hk) (BLOCK) or
 * h mod Hk (CYCLE).  in[] and w[] by kind ([..] = columns of a row; S = state of a head):
 *  MAMBA1  in: x [C], dt [C], B [N], C [N]; w: A [C, N], D [C] or NONE.  H = C heads of
 *          one channel: S[n] = exp(dt A[n]) S[n] + dt B[n] x; y = sum C[n] S[n] + D x
 *  MAMBA2  in: x [H, P], dt [H], B [Hk, N], C [Hk, N]; w: A [H], D [H] or NONE.
 *          S[p,n] = exp(dt A) S[p,n] + dt x[p] B[n]; y[p] = sum_n C[n] S[p,n] + D x[p]
 *  RWKV6   in: r, k, v, w [H, d]; w: u [H, d].  w = decay factor in (0, 1).
 *          y[j] = sum_i r[i] (S[i,j] + u[i] k[i] v[j]); S[i,j] = w[i] S[i,j] + k[i] v[j]
 *  RWKV7   in: r, w, k, v, a, b [H, d].  sa[j] = sum_i S[j,i] a[i];
 *          S[j,i] = w[i] S[j,i] + sa[j] b[i] + v[j] k[i]; y[j] = sum_i S[j,i] r[i]
 *  GLA     in: q, k [Hk, dk], v [H, dv], g [H, 1 or dk] decay factors (may be a WEIGHT).
 *          S[i,j] = g[i] S[i,j] + k[i] v[j]; y[j] = scale sum_i q[i] S[i,j]
 *  DELTA   in: q, k [Hk, dk], v [H, dv], g [H, 1 or dk] log decay, beta [H].
 *          S[i,j] *= exp(g[i]); d[j] = beta (v[j] - sum_i k[i] S[i,j]);
 *          S[i,j] += k[i] d[j]; y[j] = scale sum_i q[i] S[i,j] */
enum lmd_scan {
	LMD_SCAN_MAMBA1 = 1, LMD_SCAN_MAMBA2 = 2, LMD_SCAN_RWKV6 = 3, LMD_SCAN_RWKV7 = 4,
	LMD_SCAN_GLA = 5, LMD_SCAN_DELTA = 6
};
#define LMD_SCAN_MAX_IN 6
struct lmd_op_scan {
	struct lmd_operand in[LMD_SCAN_MAX_IN];
	struct lmd_operand y;
	uint32_t w[2];        /* weights or LMD_NONE */
	uint32_t kind;        /* enum lmd_scan */
	uint32_t n_head, n_key_head;
	uint32_t dk, dv;      /* dims of a head's state; for MAMBA N and P */
	uint32_t key_map;     /* enum lmd_head_map */
	float scale;
	uint32_t cache;       /* STATE cache */
};

/* 19. MIX.  y[r, i, :] = sum_j c[r, i, j] x[r, j, :] + d[r, i] z[r, :].
 * c: n_out heads of n_in (transposed: n_in heads of n_out), may be a WEIGHT; NONE: identity.
 * d: n_out columns; NONE: 1 if z is given.  n_in <= 64, n_out <= 8. */
struct lmd_op_mix {
	struct lmd_operand x; /* n_in heads of W */
	struct lmd_operand c;
	struct lmd_operand d; /* or NONE */
	struct lmd_operand z; /* or NONE */
	struct lmd_operand y; /* n_out heads of W */
	uint32_t c_transposed;
};

/* 20. INDEX.  Scores every key of the INDEX cache in the row's interval and emits the best n:
 *  WEIGHTED  s_j = sum_h w[h] relu(scale * q_h . k_j)     one list
 *  SUM       s_j = sum_h relu(scale * q_h . k_j)          one list
 *  PER_HEAD  s_hj = scale * q_h . k_j                     one list per head
 * each e > 1 (e is the ratio of the cache's group): row j of the cache stands for the keys
 * j*e .. j*e+e-1 of group `of`, each with the score s_j; the keys after these, up to the end of the
 * row's interval in `of`, have the score +infinity.  The list holds keys of `of`; unit is 1 and
 * local is 0.
 * unit u > 1: the score of a unit is the maximum over its keys, units are counted from key 0, and
 * the last `local` units that the row sees are always selected, before all others.  The list holds
 * key or unit numbers and -1 after the last one.  Its order is unspecified, its selection is exact:
 * the first n keys enter a heap with the worst on top, and a later key replaces the top only if its
 * score is strictly greater.  The heap is an array in which the parent of i > 0 is (i - 1)/2; it is
 * built by sifting places n/2 - 1 .. 0.  To sift x into place i, the hole at i moves down to a
 * leaf, always to the child with the lower score (the right one if they are equal); then x rises
 * from there, not above i, while its parent's score is strictly greater.  The `local` units have
 * the score +infinity. */
enum lmd_index { LMD_INDEX_WEIGHTED = 1, LMD_INDEX_SUM = 2, LMD_INDEX_PER_HEAD = 3 };
struct lmd_op_index {
	struct lmd_operand q; /* H heads of d */
	struct lmd_operand w; /* WEIGHTED: H columns */
	struct lmd_operand y; /* i32 output: 1 or H heads of n */
	uint32_t kind;        /* enum lmd_index */
	uint32_t cache;
	uint32_t n;
	uint32_t unit;        /* >= 1 */
	uint32_t local;
	float scale;
	uint32_t each;        /* 0 or 1: a row of the cache is one key */
	uint32_t of;          /* each > 1: group of the listed keys */
};

/* 21. CAST_COPY (mandatory).  y = x, converted to y's type.  Each (row, head) is a row. */
struct lmd_op_cast_copy {
	struct lmd_operand x, y;
};

/* 22, 23. ALLREDUCE: y = sum of x over the plan's device group, in f32, in pairs: neighbours by rank are
 * added, then neighbours of these sums, and so on; an odd last one is carried over: (x_0 + x_1) +
 * (x_2 + x_3) for 4 ranks, (x_0 + x_1) + x_2 for 3.  So 4 parts give the same bits on 1, 2 and 4 devices.
 * ALLGATHER: y = the x of all ranks, concatenated in rank order.
 * All ranks have the same sequence of collectives.  On devices without a group the host replaces them
 * by copies and sums. */
struct lmd_op_collective {
	struct lmd_operand x, y;
};

/* 24. PATCH.  Windows of x, each flattened to kernel*C columns (column c*kernel + j: channel slow,
 * kernel fast; 2-D: c*k1*k0 + j1*k0 + j0), followed by LINEAR with w [N, kernel*C] and its bias.
 * 1-D: along each sequence of x's row space, zeros outside; y has
 * (rows + 2*pad - dilation*(kernel-1) - 1)/stride + 1 rows for each sequence.
 * 2-D: over the height x width of the sequence's map (axis 0 = width).
 * x: a VALUE, or an INPUT with C columns. */
struct lmd_op_patch {
	struct lmd_operand x;
	uint32_t x_space;     /* row space of an INPUT x */
	uint32_t w;
	struct lmd_operand y;
	uint32_t n_dim;       /* 1 or 2 */
	uint32_t kernel[2], stride[2], pad[2], dilation[2];
};

struct lmd_op {
	uint32_t struct_size;
	uint32_t code;        /* enum lmd_op_code */
	int32_t layer;        /* layer that the op belongs to (placement, display); -1 = none */
	uint32_t space;       /* row space of the op; the builder derives it from the outputs */
	uint32_t rank;        /* set by the host: the part of a tensor-parallel plan that the op
			       * belongs to */
	uint32_t reserved[3];
	union {
		struct lmd_op_embed embed;
		struct lmd_op_norm norm;
		struct lmd_op_linear linear;
		struct lmd_op_rope_kv rope_kv;
		struct lmd_op_attn attn;
		struct lmd_op_glu glu;
		struct lmd_op_ffn ffn;
		struct lmd_op_head head;
		struct lmd_op_sample sample;
		struct lmd_op_ew ew;
		struct lmd_op_route route;
		struct lmd_op_moe_ffn moe_ffn;
		struct lmd_op_bmm bmm;
		struct lmd_op_gather gather;
		struct lmd_op_reduce reduce;
		struct lmd_op_softmax softmax;
		struct lmd_op_conv conv;
		struct lmd_op_scan scan;
		struct lmd_op_mix mix;
		struct lmd_op_index index;
		struct lmd_op_cast_copy cast_copy;
		struct lmd_op_collective collective;
		struct lmd_op_patch patch;
		uint64_t room[124];
	} u;
};
LMD_STATIC_ASSERT(sizeof(struct lmd_op) == 1024, "the size of an op never changes");

LMD_END_DECLS

#endif /* LLAMAD_OP_H */
