/* SPDX-License-Identifier: MIT
 *
 * quantize.h - a model file made into another one with smaller (or other) tensor types.
 *
 *     lmi_quantize_plan(&plan, model, &opts, err)    what becomes of each tensor
 *     lmi_quantize_run(plan, path, err)              reads, encodes, writes
 *     lmi_quantize_free(plan)
 *
 * The source is read by pread in pieces, encoded by a team of threads and written in the order
 * of its tensors; memory does not depend on its size.  The new file appears under its name when
 * it is complete and on disk.  A run that fails or is given up leaves nothing, or, where
 * opts.resume says so, the tensors that are whole: the next run with the same plan goes on after
 * them. */
#ifndef LLAMAD_CORE_QUANTIZE_QUANTIZE_H
#define LLAMAD_CORE_QUANTIZE_QUANTIZE_H

#include "core/format/format.h"
#include "core/format/gguf/write.h"
#include "core/format/imatrix/imatrix.h"
#include "core/quantize/ftype.h"

/* A type for the tensors whose names a pattern fits: a regular expression (PCRE2) that is
 * looked for anywhere in the name. */
struct lmi_quantize_rule {
	const char *pattern;
	enum lmd_dtype type;
};

/* `done` of `total` bytes of the source are through; false gives up (LMD_CANCELLED).  Called in
 * the thread of lmi_quantize_run. */
typedef bool (*lmi_quantize_progress_fn)(void *arg, uint64_t done, uint64_t total);

/* Everything borrowed until the plan is freed. */
struct lmi_quantize_opts {
	const struct lmi_ftype *ftype; /* NULL: every tensor keeps its type */
	const struct lmi_imatrix *imatrix; /* NULL: none */
	const char *imatrix_path;	   /* for the key quantize.imatrix.file */
	bool pure;	       /* the file's own type for all tensors that are encoded */
	bool leave_output;     /* output.weight stays as it is */
	bool allow_requantize; /* tensors that are quantised already may be encoded again */
	bool keep_split;       /* as many files as the source has */
	int32_t output_type, embedding_type; /* enum lmd_dtype; -1: by the rules */
	const struct lmi_quantize_rule *rules; /* the first that fits decides */
	uint32_t n_rules;
	const struct lmd_meta *keys; /* take the place of keys of the source */
	uint32_t n_keys;
	const uint32_t *prune; /* layers to leave out; those after them move up */
	uint32_t n_prune;
	uint32_t n_thread; /* 0: one for each processor */
	struct lmi_gguf_resume resume; /* zeroed: nothing stays of a run that does not end */
	lmi_quantize_progress_fn progress; /* NULL: nobody asks */
	void *progress_arg;
};

struct lmi_quantize_item {
	const struct lmd_tensor *src;
	const char *name; /* in the new file */
	enum lmd_dtype type;
	bool fell_back;	    /* its rows are no whole number of blocks of the type it should get */
	bool lacks_imatrix; /* needs importances, and there are none for it */
	bool requantized;   /* was quantised, and will be encoded again */
	uint64_t bytes;
	const struct lmi_imatrix_entry *importance; /* or NULL */
};

struct lmi_quantize_plan {
	const struct lmi_model *model;
	struct lmi_quantize_opts opts;
	struct lmi_quantize_item *items; /* in the order of the source */
	uint32_t n_items;
	uint32_t n_files;	 /* of the result */
	int64_t n_layer, n_left; /* of the source, and when layers are left out */
	uint64_t elements, bytes_in, bytes_out;
	uint32_t n_fell_back, n_lacks_imatrix, n_requantized;
};

/* LMD_INVALID: a pattern that is none, a type without encoder, layers that are not there, an
 * importance matrix of other shape.  Any thread; the model outlives the plan. */
enum lmd_status lmi_quantize_plan(struct lmi_quantize_plan **out, const struct lmi_model *model,
				  const struct lmi_quantize_opts *opts, struct lmd_error *err);
void lmi_quantize_free(struct lmi_quantize_plan *p); /* NULL allowed */

/* May it be run: LMD_INVALID names the first tensor that would be encoded again without
 * allow_requantize, or lacks importances. */
enum lmd_status lmi_quantize_check(const struct lmi_quantize_plan *p, struct lmd_error *err);

/* The path of file i of the plan's files for an output `path`: itself, or for several files
 * "STEM-00001-of-0000N.gguf", where STEM is path without ".gguf".  On the heap (lmi_free); NULL
 * without memory. */
char *lmi_quantize_path(const struct lmi_quantize_plan *p, const char *path, uint32_t i);

/* Checks as lmi_quantize_check and writes.  The files of a set get their names when the last is
 * complete.  An earlier run is gone on with when sources (by device, inode, size and time), plan,
 * importances and what the encoders make of made-up values are the same. */
enum lmd_status lmi_quantize_run(const struct lmi_quantize_plan *p, const char *path,
				 struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_QUANTIZE_H */
