/* SPDX-License-Identifier: MIT
 *
 * plan.h - compiled plans.  Compiling an op writes its arguments into the plan's argument buffer and
 * appends dispatches.  It is done twice: first to measure, then, when the memory is there, for real.
 *
 * The environment is what differs between steps: where the step block is, the rows of each space,
 * the bindings, and the numbers of workgroups. */
#ifndef LLAMAD_VULKAN_PLAN_H
#define LLAMAD_VULKAN_PLAN_H

#include "group.h"
#include "pool.h"
#include "vkb.h"
#include "weight.h"

/* A number of workgroups: ceil(rows of a space * mul / div), or mul if space is VKB_FIXED. */
#define VKB_FIXED LMD_N_SPACE
struct vkb_grid {
	uint32_t space;
	uint64_t mul, div;
};

struct vkb_dispatch {
	struct vkb_pipeline *pipeline;
	uint32_t op, at, phase;
	uint32_t groups; /* index of its numbers of workgroups */
	/* 0: it runs in any step.  1: only if its work is within the bound.  More: only if it is not; then
	 * this is one of `parts` dispatches, which divide the workgroups in x (work.c). */
	uint32_t part, parts;
	bool beside;             /* needs nothing of the dispatch before it */
	bool adapters;           /* runs only in steps with adapters */
	bool meets;              /* runs after an exchange of ranks */
	struct vkb_grid x, y;
	/* Multiply-adds, if they count: for each row of y's space or, if `keys` names groups (plus 1),
	 * for each key that a row of the step sees of them. */
	uint64_t work;
	uint32_t keys[2];
	/* Runs only if the rows of a space times `each` are in [lo, hi]; each 0: always. */
	uint32_t of, each, lo, hi;
};

#define VKB_ENV_ADAPTERS 11u
#define VKB_ENV_AREA     12u /* of a group: address, bytes of a part, half of the first exchange */
#define VKB_ENV_INPUT 16u        /* words, as in shaders/lib.glsl */
#define VKB_LAYOUT_WORDS 96u
#define VKB_VIEW_WORDS 12u
#define VKB_MOST_HEAD 1024u /* columns of a head: MOST of shaders/attn.comp, rope_kv.comp */

/* Where adapters apply, and the shape of the weight there. */
struct vkb_place {
	uint32_t site, n, k, n_stack;
};

/* The command buffers for steps that need the same dispatches (record.c). */
#define VKB_N_VARIANT 8u
struct vkb_variant {
	bool *active;            /* [n_dispatch] */
	VkCommandBuffer *cmds;   /* [n_piece]; NULL: never used */
	struct vkb_counts counts;
	uint64_t used;           /* n_use of the plan at the last step that needed it */
};

struct vkb_plan {
	struct vkb_dev *dev;
	const struct lmd_plan *plan;
	struct lmd_step_layout layout;
	struct vkb_weight **weights; /* [n_weight_ref] */
	struct vkb_pool **pools;     /* [n_group] */
	struct vkb_cache **caches;   /* [n_cache]; NULL: in none of the pools */
	uint32_t *args;
	uint32_t n_args;
	struct vkb_dispatch *dispatches;
	uint32_t n_dispatch, n_groups;
	struct vkb_place *places;
	uint32_t n_place;
	struct lmd_devgroup *group; /* of its collectives; NULL: it has none */
	struct vkb_exchange *exchanges;
	uint32_t n_exchange;
	uint64_t exchange_bytes; /* most of a rank */
	uint64_t temp_bytes;
	struct vkb_mem args_mem, env_mem, block_mem, temp_mem, own_values;
	VkBuffer values_buffer;
	uint64_t values_offset;
	VkDeviceAddress values;
	uint64_t keys[LMD_MAX_GROUP]; /* that the rows of the next step see, in all */
	uint32_t *env;           /* [n_env] what the next step writes */
	uint32_t n_env, indirect; /* words; the counts of workgroups begin at word `indirect` */
	VkCommandPool pool;
	uint32_t *cuts, *ends;   /* [n_piece + 1] first dispatch of each piece; [n_piece] */
	bool *meets;             /* [n_piece] */
	uint32_t n_piece, n_variant;
	uint64_t n_use;
	struct vkb_variant variants[VKB_N_VARIANT];
	VkDescriptorPool descriptors;
	VkDescriptorSet set;     /* the arguments and the environment */
};

/* ---- compiling an op ---- */

struct vkb_build {
	struct vkb_dev *dev;
	struct vkb_plan *p;
	const struct lmd_plan *plan;
	bool real;               /* the second time */
	uint32_t op;             /* index */
	uint64_t temp;           /* bytes of temporary memory that the op has taken */
	enum lmd_status status;  /* first failure */
	struct lmd_error *err;
	struct vkb_dispatch unused; /* what vkb_dispatch returns the first time */
};

/* Arguments: each function appends words.  vkb_args returns the number of the next word, with which the
 * arguments of a dispatch begin. */
uint32_t vkb_args(struct vkb_build *b);
#define VKB_MOST_ARGS 1024u      /* words of a dispatch; as in shaders/lib.glsl */
#define VKB_MOST_ENV  512u       /* words that shaders read */
void vkb_u32(struct vkb_build *b, uint32_t v);
void vkb_f32(struct vkb_build *b, float v);
void vkb_address(struct vkb_build *b, VkDeviceAddress a);
void vkb_view(struct vkb_build *b, const struct lmd_operand *o); /* NULL or src NONE: absent */
void vkb_floats(struct vkb_build *b, const float *v, uint32_t n);

/* A window of temporary memory: rows of n_head heads of `width` numbers. */
struct vkb_temp {
	VkDeviceAddress at;
	uint32_t space, n_head, width;
	uint32_t stride;         /* between heads; 0 = width */
	uint32_t col0;
};
struct vkb_temp vkb_temp(struct vkb_build *b, uint32_t space, uint32_t n_head, uint32_t width);
void vkb_temp_view(struct vkb_build *b, const struct vkb_temp *t);
/* Takes temporary memory. */
VkDeviceAddress vkb_take(struct vkb_build *b, uint64_t bytes);

/* A binding as a window: number `slot` of the environment (inputs, then outputs). */
void vkb_binding_view(struct vkb_build *b, uint32_t slot, uint32_t width, bool i32);

/* The elements of a weight as f32; 0 for LMD_NONE. */
VkDeviceAddress vkb_flat(struct vkb_build *b, uint32_t weight_ref);

struct vkb_grid vkb_rows(uint32_t space, uint64_t mul, uint64_t div);
struct vkb_grid vkb_fixed(uint64_t n);
/* Appends a dispatch, whose arguments begin at word `at`.  The result is valid until the next one. */
struct vkb_dispatch *vkb_dispatch(struct vkb_build *b, enum vkb_module m, uint32_t spec0,
				  uint32_t spec1, uint32_t at, struct vkb_grid x, struct vkb_grid y);

/* The dispatch runs only if the rows of a space times `each` are in [lo, hi]. */
void vkb_when(struct vkb_dispatch *d, uint32_t space, uint32_t each, uint32_t lo, uint32_t hi);

/* The work of a dispatch in a step, with all parts if it is one, and its share of that.  keys: that the rows
 * see, in all, by group. */
uint64_t vkb_work_of(const struct vkb_dispatch *d, const uint32_t *rows, const uint64_t *keys);
uint64_t vkb_share_of(const struct vkb_dispatch *d, const uint32_t *rows, const uint64_t *keys);
/* The most keys that rows of a step can see, by group. */
void vkb_most_keys(const struct vkb_plan *p, uint64_t *keys);
/* Workgroups for these rows. */
uint64_t vkb_groups(const struct vkb_grid *g, const uint32_t *rows);
/* Divides the dispatch that was appended last, which is complete, if its work may exceed what is submitted at
 * once.  Its shader takes workgroup and number of workgroups in x from GROUP_X and GROUPS_X. */
void vkb_split(struct vkb_build *b, struct vkb_dispatch *d);

struct vkb_side;
/* Address, bytes of a row and of a head of a side of a cache; NULL: zeros. */
void vkb_put_side(struct vkb_build *b, const struct vkb_side *s);
/* The cache of this id; NULL for LMD_NONE, or with a failure if no pool has it. */
struct vkb_cache *vkb_cache_of(struct vkb_build *b, uint32_t id);
/* The table of the adapters that apply to a weight [n_stack, n, k] at a site; 0 if the plan has none
 * there. */
VkDeviceAddress vkb_adapters(struct vkb_build *b, uint32_t site, uint32_t n, uint32_t k,
			     uint32_t n_stack);
/* The space of an operand's rows. */
uint32_t vkb_space(const struct vkb_build *b, const struct lmd_operand *o);
void vkb_failed(struct vkb_build *b, enum lmd_status st);

/* Makes and frees what is needed to record. */
enum lmd_status vkb_record_open(struct vkb_plan *p, struct lmd_error *err);
void vkb_record_close(struct vkb_plan *p);
/* The commands of the step that the environment is for, divided so that no submission is expected to
 * exceed the device's most_work.  Valid until the next call. */
enum lmd_status vkb_plan_commands(struct vkb_plan *p, struct vkb_commands *out, struct lmd_error *err);
/* Makes the pipelines of dispatches from .. to-1, as far as the step needs them; then they can be recorded. */
enum lmd_status vkb_plan_pipelines(struct vkb_plan *p, uint32_t from, uint32_t to,
				   struct lmd_error *err);
void vkb_plan_record(struct vkb_plan *p, VkCommandBuffer cmd, uint32_t from, uint32_t to);

/* ---- ops ---- */

typedef void (*vkb_op_fn)(struct vkb_build *b, const struct lmd_op *op);
/* The function that compiles an op; NULL: there is none. */
vkb_op_fn vkb_op_of(uint32_t code);
/* Why this op cannot run here; NULL: it can. */
const char *vkb_op_reason(const struct lmd_plan *plan, const struct lmd_op *op);

/* ---- products (product.c) ---- */

/* Rows of floats that a product reads, and the same rows rounded to 8 bits if products need them. */
struct vkb_x {
	VkDeviceAddress at;
	uint32_t row_bytes, head_bytes, n_head;
	VkDeviceAddress ints, floats; /* 0: there are none */
	uint32_t int_row;             /* bytes */
};

enum vkb_slice { VKB_SLICE_NONE, VKB_SLICE_IDS, VKB_SLICE_HEAD };

struct vkb_product {
	struct vkb_x x;
	uint32_t space, heads;   /* items: rows of the space times heads */
	enum vkb_slice mode;
	const struct lmd_operand *ids;
	uint32_t w;              /* weight reference */
	const struct lmd_operand *y, *r_in, *r_out; /* or NULL */
	const struct vkb_temp *y_temp;              /* instead of y */
	float scale, a, softcap, lo, hi;
	uint32_t act;
	const float *act_param;     /* [LMD_N_ACT_FN_PARAM] or NULL */
	uint32_t bias2;          /* weight reference or LMD_NONE */
	uint32_t site;           /* of adapters, or LMD_NONE */
	bool beside;
};

/* Has shaders/product8.glsl the weight's type, or is it multiplied in float with rounded rows? */
bool vkb_is_integer(const struct vkb_dev *dev, const struct vkb_weight *w);
bool vkb_is_rounded(const struct vkb_dev *dev, const struct vkb_weight *w);

/* Makes rows ready for the products with n_ref weights (weight references, or LMD_NONE): in place, normed,
 * or rounded, in temporary memory.  out_rows: row i is row out_row[i] of o. */
struct vkb_x vkb_prepare(struct vkb_build *b, const struct lmd_operand *o,
			 const struct lmd_norm *norm, uint32_t space, bool out_rows,
			 const uint32_t *refs, uint32_t n_ref);
struct vkb_x vkb_x_of(const struct vkb_temp *t);
/* Rounds rows of a space, if the products with n weights need it. */
void vkb_round(struct vkb_build *b, struct vkb_x *x, uint32_t space, const uint32_t *refs, uint32_t n);
void vkb_products(struct vkb_build *b, const struct vkb_product *p);
/* The words of a norm: kind, eps, group, flags, and its windows as the shader norm reads them. */
void vkb_norm_dispatch(struct vkb_build *b, const struct lmd_op_norm *n, const struct vkb_temp *y,
		       uint32_t space, bool out_rows);
/* act(gate) * up of temporary rows, ready for the product with a weight; up may be NULL. */
struct vkb_x vkb_glu_rows(struct vkb_build *b, uint32_t act, const float *p,
			  const struct vkb_temp *gate, const struct vkb_temp *up, uint32_t ref);

void vkb_op_linear(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_ffn(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_head(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_bmm(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_embed(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_norm(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_rope_kv(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_attn(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_glu(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_ew(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_gather(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_cast_copy(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_softmax(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_reduce(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_mix(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_route(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_moe_ffn(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_scan(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_conv(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_patch(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_index(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_sample(struct vkb_build *b, const struct lmd_op *op);
void vkb_op_collective(struct vkb_build *b, const struct lmd_op *op);

#endif /* LLAMAD_VULKAN_PLAN_H */
