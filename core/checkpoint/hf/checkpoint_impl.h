/* SPDX-License-Identifier: MIT
 *
 * checkpoint_impl.h - shared between the files of the checkpoint reader. */
#ifndef LLAMAD_CORE_CHECKPOINT_HF_CHECKPOINT_IMPL_H
#define LLAMAD_CORE_CHECKPOINT_HF_CHECKPOINT_IMPL_H

#include <pthread.h>

#include "core/checkpoint/hf/checkpoint.h"
#include "core/plugin/registry.h"
#include "llamad/attr.h"
#include "llamad/checkpoint.h"

/* ---- weights of a checkpoint ---- */

/* How the values of one weight are stored. */
enum lmi_checkpoint_quant_scheme {
	LMI_CHECKPOINT_SCHEME_PLAIN,
	LMI_CHECKPOINT_SCHEME_SCALED, /* w * scale of its block of rows and columns (fp8, int8) */
	LMI_CHECKPOINT_SCHEME_AFFINE, /* MLX: codes in u32 words, scale and bias per group */
	LMI_CHECKPOINT_SCHEME_GPTQ, /* GPTQ: codes and zero points packed down the columns in i32 */
	LMI_CHECKPOINT_SCHEME_AWQ, /* AWQ: codes packed along the rows in i32, in AWQ's own order */
	LMI_CHECKPOINT_SCHEME_PACKED, /* compressed-tensors pack-quantized: codes along the rows in
				       * i32 */
	LMI_CHECKPOINT_SCHEME_MXFP4,  /* blocks of 16 bytes, each with an exponent */
};

#define LMI_CHECKPOINT_SCHEME_BLOCK 32u /* values in a Q4_0, Q4_1 or Q8_0 block */

/* quantization_config of the checkpoint. */
struct lmi_checkpoint_quant_config {
	enum lmi_checkpoint_quant_scheme scheme;
	uint32_t bits, group;
	bool symmetric;   /* GPTQ: all zero points are the middle code */
	bool order;       /* GPTQ: g_idx assigns columns to groups (desc_act) */
	bool zero_offset; /* GPTQ: zero points are stored minus 1 */
};

/* One weight of the checkpoint as a matrix. */
struct lmi_checkpoint_weight_source {
	const struct lmi_st_tensor *w, *scale, *zero, *order;
	uint8_t scheme; /* enum lmi_checkpoint_quant_scheme */
	uint32_t bits, group;
	uint64_t rows, cols;
	bool symmetric, zero_offset;
};

/* How the rows of the sources become rows of the tensor. */
enum lmi_checkpoint_transform_op {
	LMI_CHECKPOINT_TRANSFORM_NONE,
	LMI_CHECKPOINT_TRANSFORM_ROPE, /* in each head: from halves to adjacent pairs */
	LMI_CHECKPOINT_TRANSFORM_QKV,  /* from groups of (queries, key, value) to all queries, keys,
				       * values */
	LMI_CHECKPOINT_TRANSFORM_GATED_DELTA, /* from slices of (queries, keys, values) to all of
					       * each */
	LMI_CHECKPOINT_TRANSFORM_SELECT,      /* some rows of each slice */
	LMI_CHECKPOINT_TRANSFORM_TRANSPOSE,   /* each slice transposed; some of its columns */
	LMI_CHECKPOINT_TRANSFORM_VALUES       /* numbers computed from the configuration */
};

/* Slices of a source.  A slice is a head, an expert, or the whole source, and has `rows` rows.
 *
 * DELTA: a slice holds `first` queries, as many keys, n values, n gates.
 * PART: takes n rows: first, first + step, ...
 * TRANSPOSE: takes n columns (first, first + step, ...) of the first n_used rows. */
struct lmi_checkpoint_transform_slices {
	uint64_t rows, n_used;
	uint64_t first, step, n;
};

struct lmi_checkpoint_tensor_transform {
	struct lmi_checkpoint_weight_source *src; /* [n_src], rows concatenated */
	uint32_t n_src;
	uint8_t op;
	bool in_place; /* mapped: type and order are as in the file */
	bool neg_exp;  /* x is stored as log(-x) */
	float add;
	uint64_t rows;                                /* rows taken from each source */
	uint64_t row0;                                /* the first row taken */
	uint32_t n_head, head_dim, n_kv;              /* ROPE, QKV */
	struct lmi_checkpoint_transform_slices slice; /* DELTA, PART, TRANSPOSE */
	const float *values;
};

/* ---- maps.c ---- */

/* The maps of all architectures, with the references that keep their plugins. */
struct lmi_checkpoint_maps {
	struct lmi_plugin_registry *plugins;
	const struct lmi_factory **archs;
	uint32_t n;
};

/* plugins may be NULL: there are no maps then. */
enum lmd_status lmi_checkpoint_maps_take(struct lmi_checkpoint_maps *m,
					 struct lmi_plugin_registry *plugins,
					 struct lmd_error *err);
/* m may be zeroed. */
void lmi_checkpoint_maps_give(struct lmi_checkpoint_maps *m);
/* Map i of all; NULL after the last. */
const struct lmd_checkpoint_map *lmi_checkpoint_map_at(const struct lmi_checkpoint_maps *m,
						       uint32_t i);
/* Returns NULL if the type is unknown. */
const struct lmd_checkpoint_map *lmi_checkpoint_map_find(const struct lmi_checkpoint_maps *m,
							 const struct lmi_json_node *model_type);

/* ---- the folder ---- */

struct lmi_checkpoint {
	struct lmd_checkpoint pub; /* what the functions of a map see; first member */
	struct lmi_model *m;
	const char *dir;
	const char *single_file; /* the *.safetensors that was named, or NULL */
	const char *no_vocab; /* why keys cannot represent the vocabulary; NULL if they do */
	uint32_t flags;
	struct lmi_json_tree config, generation;
	struct lmi_hf_tokenizer *tokenizer; /* or NULL; the model's vocabulary points into it */
	const struct lmi_json_node *root;   /* of config.json */
	const struct lmi_json_node *text;   /* text_config, or root */
	struct lmi_checkpoint_maps maps;      /* only while it is being opened */
	const struct lmd_checkpoint_map *map; /* likewise */
	struct lmi_checkpoint_quant_config quant;
	struct lmi_st st;
	uint8_t *used; /* [st.n] */
	/* [cap] how to make m->tensors[i]; on the heap, src and values in the arena */
	struct lmi_checkpoint_tensor_transform *transforms;
	uint32_t cap;
	const char *prefix; /* of all names of the language model, from tensors.c */
	const float *rope_freqs, *rope_long, *rope_short; /* [n_rope_freqs] each, or NULL */
	uint32_t n_rope_freqs;
	/* scratch buffers of tensor_transform.c and quant_scheme.c */
	struct lmi_checkpoint_scratch {
		void *p;
		size_t bytes;
	} raw, values, codes, whole, transposed, row, piece;
	const struct lmi_st_tensor *whole_tensor; /* the one in `whole` */
	/* the tensor in `transposed`, and its slice */
	const struct lmi_st_tensor *transposed_tensor;
	uint64_t transposed_slice;
	pthread_mutex_t lock; /* protects the scratch while a model that owns this is read */
	/* the first error of a key or value */
	enum lmd_status status;
	struct lmd_error *err;
};

/* ---- config_json.c ---- */

/* Returns the first value present among the names "a|b|c", in text_config first, then outside; null
 * counts as absent. */
const struct lmi_json_node *lmi_checkpoint_config_find(const struct lmi_checkpoint *f,
						       const char *names);
bool lmi_checkpoint_config_has(const struct lmi_checkpoint *f, const char *names);
/* Typed values.  `def` is returned if the key is absent; lmi_checkpoint_config_require_int fails
 * then.  Errors are sticky and name config.json, the key and the limits. */
int64_t lmi_checkpoint_config_int(struct lmi_checkpoint *f, const char *names, int64_t def,
				  int64_t min, int64_t max);
int64_t lmi_checkpoint_config_require_int(struct lmi_checkpoint *f, const char *names, int64_t min,
					  int64_t max);
double lmi_checkpoint_config_float(struct lmi_checkpoint *f, const char *names, double def);
bool lmi_checkpoint_config_bool(struct lmi_checkpoint *f, const char *names, bool def);
/* True if the value is this text. */
bool lmi_checkpoint_config_equals(const struct lmi_checkpoint *f, const char *names,
				  const char *text);

/* Records an error; the first one is kept. */
void lmi_checkpoint_fail(struct lmi_checkpoint *f, enum lmd_status st, const char *fmt, ...)
	LMD_PRINTF(3, 4);

/* Reads a JSON file of the folder.  An absent file leaves *t empty, which is allowed if
 * `optional`. */
enum lmd_status lmi_checkpoint_read_json(struct lmi_checkpoint *f, const char *name, bool optional,
					 size_t max_bytes, uint32_t max_nodes,
					 struct lmi_json_tree *t);

/* Add keys.  A name that begins with '@' is used as is, otherwise the architecture is prepended.
 * Errors are sticky. */
void lmi_checkpoint_put_u32(struct lmi_checkpoint *f, const char *key, int64_t v);
void lmi_checkpoint_put_i32(struct lmi_checkpoint *f, const char *key, int64_t v);
void lmi_checkpoint_put_f32(struct lmi_checkpoint *f, const char *key, double v);
void lmi_checkpoint_put_bool(struct lmi_checkpoint *f, const char *key, bool v);
void lmi_checkpoint_put_str(struct lmi_checkpoint *f, const char *key, const char *s, size_t n);
/* v is not copied and must be in the model's arena. */
void lmi_checkpoint_put_strings(struct lmi_checkpoint *f, const char *key, const struct lmd_str *v,
				uint64_t n);
void lmi_checkpoint_put_ints(struct lmi_checkpoint *f, const char *key, const int64_t *v,
			     uint64_t n);
void lmi_checkpoint_put_floats(struct lmi_checkpoint *f, const char *key, const double *v,
			       uint64_t n);
void lmi_checkpoint_put_bools(struct lmi_checkpoint *f, const char *key, const uint8_t *v,
			      uint64_t n);
/* v: one byte value per element. */
void lmi_checkpoint_put_bytes(struct lmi_checkpoint *f, const char *key, const int64_t *v,
			      uint64_t n);
/* Zeroed memory in the model's arena; NULL after an error, which is sticky. */
void *lmi_checkpoint_alloc(struct lmi_checkpoint *f, size_t n, size_t item_bytes);

/* ---- map_view.c ---- */

/* Sets the functions of f->pub. */
void lmi_checkpoint_init_view(struct lmi_checkpoint *f);

/* ---- model_keys.c ---- */

/* Adds sizes, heads, norms and RoPE, then the keys of the family. */
void lmi_checkpoint_add_keys(struct lmi_checkpoint *f);
/* Sets is[n_layer] for the layers that have a window, from layer_types; false if the file does not
 * say. */
bool lmi_checkpoint_window_layers(struct lmi_checkpoint *f, uint8_t *is);

/* Adds pooling_type from 1_Pooling/config.json. */
void lmi_checkpoint_add_pooling(struct lmi_checkpoint *f);

/* ---- tensors.c, tensor_build.c, tensor_transform.c, quant_scheme.c, source_values.c,
 * packed_codes.c ---- */

/* Adds the next tensor of the model, with its transform: ".weight" or ".bias" of a row, from n
 * sources of one shape.  Errors are sticky. */
void lmi_checkpoint_add_tensor(struct lmi_checkpoint *f,
			       const struct lmd_checkpoint_row *row,
			       struct lmi_checkpoint_weight_source *src, uint32_t n, bool bias,
			       const char *to);
/* Adds a tensor of f->n_rope_freqs computed values. */
void lmi_checkpoint_add_values(struct lmi_checkpoint *f, const char *name, const float *v);

/* Can the first n bytes of a tensor's name stand before all names of a language model, as in
 * "model.layers.0.mlp.up_proj"?  They end with a dot, contain no number, and are not those of another
 * modality. */
bool lmi_checkpoint_is_prefix(const char *name, size_t n);

/* Adds all tensors with their transforms.  It is an error if a tensor of the files is neither used
 * nor known to be unneeded. */
void lmi_checkpoint_add_tensors(struct lmi_checkpoint *f);
/* Reads quantization_config, or MLX's quantization. */
void lmi_checkpoint_read_quant_config(struct lmi_checkpoint *f);
/* Finds the weight of a stem ("a.b.q_proj") in any scheme and marks its tensors as used.  Returns
 * false if there is none.  Errors are sticky. */
bool lmi_checkpoint_source_find(struct lmi_checkpoint *f, const char *stem,
				struct lmi_checkpoint_weight_source *out);
/* Finds a tensor by its exact name. */
bool lmi_checkpoint_source_find_plain(struct lmi_checkpoint *f, const char *name,
				      struct lmi_checkpoint_weight_source *out);
/* SCALED: true if each row has a scale. */
bool lmi_checkpoint_source_is_scaled_by_row(const struct lmi_checkpoint_weight_source *s);
/* The type that a source gets in the model; a float type if the rows are `changed`. */
enum lmd_dtype lmi_checkpoint_source_type(const struct lmi_checkpoint_weight_source *s,
					  bool changed);
/* Decode n rows from row0 on to floats, or to blocks if lmi_checkpoint_source_type is a block
 * type. */
enum lmd_status lmi_checkpoint_source_floats(struct lmi_checkpoint *f,
					     const struct lmi_checkpoint_weight_source *s,
					     uint64_t row0, uint64_t n, float *out,
					     struct lmd_error *err);
enum lmd_status lmi_checkpoint_source_blocks(struct lmi_checkpoint *f,
					     const struct lmi_checkpoint_weight_source *s,
					     uint64_t row0, uint64_t n, void *out,
					     struct lmd_error *err);
/* As lmi_checkpoint_source_floats, for a source of packed codes. */
enum lmd_status lmi_checkpoint_source_coded_floats(struct lmi_checkpoint *f,
						   const struct lmi_checkpoint_weight_source *s,
						   uint64_t row0, uint64_t n, float *out,
						   struct lmd_error *err);
/* Decodes n values of a tensor, starting with value `at`. */
enum lmd_status lmi_checkpoint_source_values(struct lmi_checkpoint *f,
					     const struct lmi_st_tensor *t, uint64_t at, uint64_t n,
					     float *out, struct lmd_error *err);
/* Grows the buffer; returns NULL and an error if out of memory. */
void *lmi_checkpoint_scratch_reserve(struct lmi_checkpoint_scratch *s, uint64_t n,
				     uint64_t item_bytes, struct lmd_error *err);
/* The first value of the tensor named before + il + after.  Errors are sticky. */
double lmi_checkpoint_read_scalar(struct lmi_checkpoint *f, const char *before, uint32_t il,
				  const char *after);
/* Reads bytes [at, at + n) of a tensor from its file. */
enum lmd_status lmi_checkpoint_source_read(struct lmi_checkpoint *f, const struct lmi_st_tensor *t,
					   uint64_t at, void *buf, size_t n, struct lmd_error *err);
/* The source row that becomes row u of the tensor. */
uint64_t lmi_checkpoint_transform_source_row(const struct lmi_checkpoint_tensor_transform *r,
					     uint64_t u);
/* Decodes n values of a type used in files. */
void lmi_checkpoint_st_decode(enum lmi_st_type type, const void *src, float *dst, size_t n);

/* ---- vocab.c ---- */

/* Reads generation_config.json; its sampling defaults become keys. */
void lmi_checkpoint_read_generation(struct lmi_checkpoint *f);
/* Makes the folder's tokenizer the model's.  The model's keys must have been checked. */
void lmi_checkpoint_read_vocab(struct lmi_checkpoint *f);

/* ---- vocab_keys.c, pretok.c ---- */

/* Adds the vocabulary as keys.  pre: name of the pre-tokenizer, or NULL.  Returns NULL on success,
 * otherwise the reason why it cannot be represented. */
const char *lmi_checkpoint_add_vocab_keys(struct lmi_checkpoint *f, const char *pre);
/* The GGUF pre-tokenizer that is equivalent to these steps, or NULL.  own: the name that the map
 * prefers, or NULL. */
const char *lmi_checkpoint_pretokenizer_name(const struct lmd_tok_spec *s, const char *own);

#endif /* LLAMAD_CORE_CHECKPOINT_HF_CHECKPOINT_IMPL_H */
