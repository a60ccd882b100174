/* SPDX-License-Identifier: MIT
 *
 * quantize.h - converts a model to a file with smaller (or other) tensor types.
 *
 *     lmi_quantize_plan(&plan, model, &opts, err)    decides the type of each tensor
 *     lmi_quantize_run(plan, path, err)              reads, encodes, writes
 *     lmi_quantize_free(plan)
 *
 * The source is read by pread in pieces, encoded by a team of threads and written in the order of
 * its tensors; memory use does not depend on its size.  The new file appears under its name when it
 * is complete and on disk.  A run that fails or is cancelled leaves nothing, or with opts.resume
 * the completed tensors, which the next run with the same plan reuses. */
#ifndef LLAMAD_CORE_QUANTIZE_QUANTIZE_H
#define LLAMAD_CORE_QUANTIZE_QUANTIZE_H

#include "core/format/format.h"
#include "core/format/gguf/write.h"
#include "core/checkpoint/imatrix/imatrix.h"
#include "core/quant/ftype.h"
#include "llamad/arch.h"
#include "llamad/types.h"

/* ---- a run ---- */

/* A type for the tensors whose names match a pattern: a regular expression (PCRE2) that may match
 * anywhere in the name. */
struct lmi_quantize_rule {
	const char *pattern;
	enum lmd_dtype type;
};

/* Reports that `done` of `total` bytes of the source are encoded; return false to cancel
 * (LMD_CANCELLED).  Called in the thread of lmi_quantize_run. */
typedef bool (*lmi_quantize_progress_fn)(void *arg, uint64_t done, uint64_t total);

/* Everything is borrowed until the plan is freed. */
struct lmi_quantize_opts {
	const struct lmi_ftype *ftype; /* NULL: every tensor keeps its type */
	const struct lmd_arch_ops *arch; /* of the model; NULL: nothing unusual */
	const struct lmi_imatrix *imatrix; /* may be NULL */
	const char *imatrix_path;	   /* value of the key quantize.imatrix.file */
	bool pure;	       /* use the file's own type for all tensors that are encoded */
	bool leave_output;     /* output.weight keeps its type */
	bool allow_requantize; /* tensors that are already quantised may be encoded again */
	bool keep_split;       /* write as many files as the source has */
	int32_t output_type, embedding_type; /* enum lmd_dtype; -1: by the rules */
	const struct lmi_quantize_rule *rules; /* the first match decides */
	uint32_t n_rules;
	const struct lmd_meta *keys; /* replace keys of the source */
	uint32_t n_keys;
	const uint32_t *prune; /* layers to leave out; later ones move up */
	uint32_t n_prune;
	uint32_t n_thread; /* 0: one per processor */
	struct lmi_gguf_resume resume; /* zeroed: an interrupted run leaves nothing */
	lmi_quantize_progress_fn progress; /* may be NULL */
	void *progress_arg;
};

struct lmi_quantize_item {
	const struct lmd_tensor *src;
	const char *name; /* in the new file */
	enum lmd_dtype type;
	bool fell_back;	    /* its rows are not whole blocks of the intended type */
	bool lacks_imatrix; /* needs importances, but has none */
	bool requantized;   /* already quantised and will be encoded again */
	uint64_t bytes;
	const struct lmi_imatrix_entry *importance; /* or NULL */
};

struct lmi_quantize_plan {
	const struct lmi_model *model;
	struct lmi_quantize_opts opts;
	struct lmi_quantize_item *items; /* in the order of the source */
	uint32_t n_items;
	uint32_t n_files;	 /* number of output files */
	int64_t n_layer, n_layer_out; /* layers of the source, layers that remain */
	uint64_t elements, bytes_in, bytes_out;
	uint32_t n_fell_back, n_lacks_imatrix, n_requantized;
};

/* LMD_INVALID: an invalid pattern, a type without encoder, layers that do not exist, an importance
 * matrix of another shape.  Any thread; the model must outlive the plan. */
enum lmd_status lmi_quantize_plan(struct lmi_quantize_plan **out, const struct lmi_model *model,
				  const struct lmi_quantize_opts *opts, struct lmd_error *err);
void lmi_quantize_free(struct lmi_quantize_plan *p); /* NULL allowed */

/* Checks that the plan may be run.  LMD_INVALID names the first tensor that would be encoded again
 * without allow_requantize, or lacks importances. */
enum lmd_status lmi_quantize_check(const struct lmi_quantize_plan *p, struct lmd_error *err);

/* Returns the path of output file i: `path` itself, or "STEM-00001-of-0000N.gguf" for several
 * files, where STEM is path without ".gguf".  The caller frees it (lmi_free); NULL if out of
 * memory. */
char *lmi_quantize_path(const struct lmi_quantize_plan *p, const char *path, uint32_t i);

/* Runs lmi_quantize_check, then writes.  The files of a set get their names when the last one is
 * complete.  An earlier run is resumed if sources (by device, inode, size and time), plan,
 * importances and what the encoders make of synthetic values are the same. */
enum lmd_status lmi_quantize_run(const struct lmi_quantize_plan *p, const char *path,
				 struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_QUANTIZE_H */
