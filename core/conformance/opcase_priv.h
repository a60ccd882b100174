/* SPDX-License-Identifier: MIT
 *
 * opcase_priv.h - shared by the files of the conformance cases: how a case is written, and the
 * instance that is created from it for one layout. */
#ifndef LLAMAD_CORE_CONFORMANCE_OPCASE_PRIV_H
#define LLAMAD_CORE_CONFORMANCE_OPCASE_PRIV_H

#include "core/conformance/opcase.h"
#include "core/plan/plan.h"

/* ---- a case ---- */

struct oc;

/* Builds the plan with the helpers below; `v` is opcase.v. */
typedef void (*opcase_build_fn)(struct oc *c, const int *v);

#define OC_TAIL	  1u  /* a TAIL plan */
#define OC_LORA	  2u  /* rows carry adapters */
#define OC_TREE	  4u  /* with step.tree */
#define OC_SETS	  8u  /* i32 outputs are sets: any order is accepted */
#define OC_INT8	  16u /* runs additionally with activations rounded to int8 and int16 */
#define OC_ENCODE 32u /* an ENCODE plan */
#define OC_AGAIN  64u /* the step is run twice */
#define OC_TWO_PLANS 128u /* another compiled plan of the same pools runs the step before */
#define OC_SET_TABLE 256u /* the page tables are set before the step, which changes nothing */
#define OC_CANCEL 512u /* the step is cancelled, then run */
#define OC_LONG 1024u /* in layouts of long contexts instead of the usual ones; not with SET_TABLE */
#define OC_GAIN 4096u /* with LORA: some of the adapters have a gain */
#define OC_CUT 2048u /* the device under test runs each op in a segment of its own */

#define OC_N_V 8
struct opcase {
	const char *name;
	opcase_build_fn build;
	int v[OC_N_V];
	uint32_t flags;
	const struct lmd_cache *caches;
	uint32_t n_cache;
	double nmse; /* tolerance with f32 activations */
	const char *why;
	uint32_t kv_dtype; /* type of caches with policy USER */
	uint32_t v_dtype;  /* type of their values; 0 = kv_dtype */
};
struct opcase_set {
	uint32_t op; /* enum lmd_op_code */
	const struct opcase *cases;
	uint32_t n;
};
extern const struct opcase_set opcase_embed, opcase_norm, opcase_linear, opcase_rope_kv,
	opcase_attn, opcase_glu, opcase_ffn, opcase_head, opcase_sample, opcase_ew, opcase_route,
	opcase_moe_ffn, opcase_bmm, opcase_gather, opcase_reduce, opcase_softmax, opcase_conv,
	opcase_scan, opcase_mix, opcase_index, opcase_cast_copy, opcase_patch;
extern const struct opcase_set *const opcase_sets[];
extern const uint32_t n_opcase_sets;

/* Tolerances with their reasons. */
#define OC_EXACT 0.0, "copies: the same bits"
#define OC_ELEM	 1e-10, "a few f32 roundings and one function within 2 ulp"
#define OC_SUM	 1e-10, "f32 sums of at most some hundred terms, in any order"
#define OC_HALF	 1e-7, "f32 roundings decide the last bit of a 16-bit float now and then"
#define OC_BYTE	 1e-5, "f32 roundings decide the last bit of an 8-bit number now and then"
#define OC_CHAIN 1e-9, "sums of sums: a few roundings on top of each other"

/* Groups that every case has; groups with caches get pools. */
enum {
	OC_G_FULL, /* PAGED, causal; every fourth row sees only its last five keys, one sees none */
	OC_G_STATE,
	OC_G_BATCH, /* rows of TOKENS, bidirectional */
	OC_G_COMP,  /* PAGED, one row per four tokens */
	OC_G_CROSS, /* keys of X0 */
	OC_G_XB,    /* rows of X0, bidirectional */
	OC_N_GROUP
};

/* A layout: for each sequence, the number of tokens before this step and in it. */
#define OC_MAX_SEQ 4
struct oc_layout {
	const char *name;
	uint32_t n_seq;
	uint32_t past[OC_MAX_SEQ], len[OC_MAX_SEQ];
};
extern const struct oc_layout oc_layouts[];
extern const uint32_t n_oc_layouts;
/* Returns the layouts of a case. */
const struct oc_layout *oc_layouts_of(const struct opcase *def, uint32_t *n);

#define OC_MAX_TOK   40
#define OC_MAX_OUT   12
#define OC_N_SLOT    16 /* state slots */
#define OC_SEQ_SLOTS 6
#define OC_MAX_KEYS  160 /* logical rows of a sequence */
#define OC_LONG_KEYS 4128 /* the same for OC_LONG */
#define OC_EMBD	     320 /* width of input 0 */
#define OC_EXT_ROWS  6	 /* rows of input 0 */
#define OC_VOCAB     32	 /* tokens are below this */

/* ---- an instance ---- */

#define OC_MAX_TENSOR  64
#define OC_MAX_INPUT   16
#define OC_MAX_TAP     12
#define OC_MAX_ADAPTER 16
#define OC_PARAMS      12 /* columns of SAMPLE's params */

struct oc_input {
	uint32_t space, width, n_row;
	bool i32;
	double lo, hi; /* i32: uniform lo..hi (inclusive); f32: normal with mean lo, deviation hi */
	uint32_t list; /* > 0: i32 lists of this many entries without duplicates: entry j is -1 or
			* one of the `hi` numbers from j*hi on */
	double column[OC_PARAMS]; /* f32: added to the first columns */
	void *data;		  /* [n_row][width] */
};

/* Rows of one cache before the step, encoded.  PAGED and CROSS: by (sequence slot, logical row);
 * STATE: by slot (only k, which holds the whole slot). */
struct oc_rows {
	size_t k_bytes, v_bytes; /* of a row or of a slot */
	uint32_t n_row;		 /* per sequence; for STATE the number of slots */
	char *k, *v;
};

struct oc {
	const struct opcase *def;
	const struct oc_layout *layout;
	const struct lmd_host *host;
	uint64_t rng;
	struct oc_tensor_cache *tensor_cache;
	bool any_weights;
	const struct lmd_builder *b; /* while building */
	struct lmd_model model;
	struct lmd_tensor tensors[OC_MAX_TENSOR];
	char names[OC_MAX_TENSOR][16];
	struct lmd_arch_ops arch;
	struct lmd_arch_desc desc;
	struct lmi_plan *plan;
	const struct lmd_plan *view;
	struct lmi_plan_step *step;
	struct oc_input inputs[OC_MAX_INPUT];
	uint32_t n_input;
	uint32_t n_tap;
	struct {
		uint32_t h, w; /* sequence s has h + s x w + s rows; h 0: none */
		uint32_t step; /* growth from sequence to sequence */
	} x[3];
	uint32_t n_out;
	uint32_t rows[LMD_N_SPACE];
	struct lmd_adapter_bind adapters[OC_MAX_ADAPTER];
	uint32_t n_adapter;
	struct oc_rows memory[16]; /* indexed by cache */
	struct lmd_error *err;
	enum lmd_status st;
};

/* Requirements of a device on plans. */
struct oc_device {
	uint32_t act_dtype;
	uint32_t page_tokens;
	uint32_t n_bucket;
	const uint32_t *bucket;
	lmi_plan_support_fn support; /* NULL: supports everything */
	void *support_arg;
	struct oc_tensor_cache *tensor_cache; /* NULL: tensors are made anew */
	bool any_weights; /* blocks of any bytes will do: nobody looks at the results */
};

/* Creates plan, data and step of a case in a layout.  The same seed gives the same numbers for
 * every device. */
enum lmd_status oc_create(struct oc **out, const struct opcase *def, const struct oc_layout *layout,
			  const struct lmd_host *host, const struct oc_device *dev, uint64_t seed,
			  bool lowered, struct lmd_error *err);
void oc_destroy(struct oc *c);

/* opcase_step.c: step block, contents of caches.  oc_page_of: the page of (sequence slot,
 * index). */
enum lmd_status oc_fill(struct oc *c, uint32_t page_tokens);
uint32_t oc_max_keys(const struct oc *c);
uint32_t oc_n_index(const struct oc *c, uint32_t page_tokens);
uint32_t oc_n_page(const struct oc *c, uint32_t page_tokens);
uint32_t oc_page_of(const struct oc *c, uint32_t seq_slot, uint32_t index, uint32_t page_tokens);
uint32_t oc_seq_slot(uint32_t seq);
/* Returns the number of rows that a sequence has in a cache's group after the step. */
uint32_t oc_n_key(const struct oc *c, uint32_t group, uint32_t seq);

/* ---- results ---- */

struct oc_out {
	char name[40];
	uint32_t n_row, width;
	bool i32;
	float *f; /* [n_row][width]; or i */
	int32_t *i;
};
struct oc_result {
	uint32_t n;
	struct oc_out out[OC_MAX_TAP + 16 * OC_MAX_SEQ];
};
struct oc_out *oc_result_add(struct oc_result *r, uint32_t n_row, uint32_t width, bool i32,
			     const char *fmt, ...) LMD_PRINTF(5, 6);
void oc_result_free(struct oc_result *r);

/* An open device. */
struct oc_backend {
	const struct lmi_factory *factory;
	const struct lmd_backend_ops *ops;
	void *state;
	uint32_t n_device; /* of the backend */
	bool cuts;	   /* runs cases with OC_CUT in segments */
	struct lmd_device_info info;
	const struct lmd_host *host;
};
/* Opens the device of that number. */
enum lmd_status oc_backend_open(struct oc_backend *be, const struct lmi_factory *f, uint32_t index,
				const struct lmd_host *host, struct lmd_team *team,
				uint32_t activations, struct lmd_error *err);
void oc_backend_close(struct oc_backend *be);
/* Returns the requirements of the device. */
struct oc_device oc_backend_device(struct oc_backend *be);
/* Does what a step needs before it is run: weights, pools, adapters and the compiled plan. */
enum lmd_status oc_compile(struct oc_backend *be, const struct oc *c, struct lmd_error *err);
/* Does so and runs the step. */
enum lmd_status oc_execute(struct oc_backend *be, const struct oc *c, struct oc_result *out,
			   struct lmd_error *err);

/* Cases of what devices do besides the ops. */
struct oc_device_set {
	uint32_t n;
	size_t state_bytes;
	const char *(*name)(uint32_t i);
	/* Runs case i in a state of state_bytes, which it initialises; the texts of *r live as long as
	 * the state. */
	void (*run)(struct oc_backend *be, uint32_t i, uint64_t seed, void *state,
		    struct lmi_opcase_result *r);
};
extern const struct oc_device_set oc_device_cases; /* of one device, or two */
extern const struct oc_device_set oc_group_cases;  /* of groups of devices */
/* Reports each collective, as lmi_opcase_support does. */
void oc_group_support(struct oc_backend *be, lmi_opcase_support_fn report, void *arg);

/* Compares a with b.  Stores the worst numbers in *r; on a mismatch returns false and describes it
 * in `text`. */
bool oc_compare(const struct oc_result *a, const struct oc_result *b, bool sets, double int_share,
		struct lmi_opcase_result *r, char *text, size_t n);

/* ---- helpers of build functions (opcase_make.c) ---- */

double oc_uniform(struct oc *c, double lo, double hi);
double oc_normal(struct oc *c);

/* A random weight [n_stack, n, k]; members that are 0 take the defaults: f32, one slice, deviation
 * 1/sqrt(k). */
struct oc_w {
	uint32_t dtype, n_stack, n, k;
	double mean, std;
	bool bias;
	uint32_t n_scale; /* number of values of a scale tensor; 0: none */
	uint32_t parts;	  /* number of tensors that it is split into */
	uint32_t transform;
	uint32_t n_head, head_rows; /* rows are taken head by head */
};
uint32_t oc_weight(struct oc *c, const struct oc_w *w);
/* Creates an i32 table [n, k] of numbers in lo..hi. */
uint32_t oc_table(struct oc *c, uint32_t n, uint32_t k, int lo, int hi);
/* Create a weight operand of n numbers around mean, in f32 and in f16. */
struct lmd_operand oc_vector(struct oc *c, uint32_t n, double mean, double std);
struct lmd_operand oc_half_vector(struct oc *c, uint32_t n, double mean, double std);

/* Create external inputs: normally distributed numbers, or integers in lo..hi. */
struct lmd_operand oc_in(struct oc *c, uint32_t space, uint32_t width, double mean, double std);
struct lmd_operand oc_in_ids(struct oc *c, uint32_t space, uint32_t width, int lo, int hi);
/* Creates lists of keys for n_head heads; see oc_input.list. */
struct lmd_operand oc_list(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width, int step);
/* Create values filled from inputs.  Several heads have one unused column between them; a single
 * head has one unused column before it and two after it. */
struct lmd_operand oc_x(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width);
struct lmd_operand oc_x_like(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width,
			     double mean, double std);
struct lmd_operand oc_ids(struct oc *c, uint32_t space, uint32_t width, int lo, int hi);
/* Create a value that is compared. */
struct lmd_operand oc_y(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width);
struct lmd_operand oc_y_ids(struct oc *c, uint32_t space, uint32_t n_head, uint32_t width);
/* Creates a norm whose g (and b) have n_head heads. */
struct lmd_norm oc_norm(struct oc *c, uint32_t kind, uint32_t n_head, uint32_t width, int plus_one,
			bool bias);
/* Declares that space X(k) is a map of h + s*step rows by w + s*step columns for sequence s. */
void oc_map(struct oc *c, uint32_t k, uint32_t h, uint32_t w, uint32_t step);
/* Gives the next adapter site an adapter of rank 3 in slot 1 and one of rank 0 in slot 2; returns
 * the site. */
uint32_t oc_site(struct oc *c, uint32_t n, uint32_t k, uint32_t n_stack);
/* Creates a rope table of n_rot columns. */
uint32_t oc_rope(struct oc *c, uint32_t n_rot, uint32_t pairing, uint32_t sections);
/* Returns an op with all members at their defaults. */
struct lmd_op oc_op(uint32_t code);
void oc_emit(struct oc *c, const struct lmd_op *op);

#endif /* LLAMAD_CORE_CONFORMANCE_OPCASE_PRIV_H */
