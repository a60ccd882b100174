/* SPDX-License-Identifier: MIT
 *
 * imatrix.h - importance matrices: how much each input column of a weight matters.
 *
 * While a model reads a text, the inputs x of each matrix product are squared and summed per
 * column; sum / count is the mean of x[j]^2, by which a quantiser weights the error of column j.  A
 * stack of experts has sums and a count for each expert.
 *
 * There are two file formats, described in docs/formats.md: GGUF with general.type "imatrix", and
 * the older ".dat", which stores means times a number of calls instead of sums and counts. */
#ifndef LLAMAD_CORE_CHECKPOINT_IMATRIX_IMATRIX_H
#define LLAMAD_CORE_CHECKPOINT_IMATRIX_IMATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_IMATRIX_ENTRIES  (1u << 17)
#define LMI_IMATRIX_VALUES   (1ull << 28) /* in all entries */
#define LMI_IMATRIX_DATASETS 1024u
/* Tokens in a chunk if the file does not say. */
#define LMI_IMATRIX_CHUNK 512u

struct lmi_imatrix_entry {
	char *name;	   /* of the weight: "blk.0.ffn_down.weight" */
	uint64_t n;	   /* number of values: columns times matrices */
	uint32_t n_count;  /* 1, or one per matrix */
	float *sum2;	   /* [n] sums of squares */
	float *sum;	   /* [n] sums, or NULL if the file has none */
	float *count;	   /* [n_count] number of rows summed */
};

struct lmi_imatrix {
	struct lmi_imatrix_entry *entry; /* sorted by name */
	uint32_t n_entry, cap_entry;
	uint64_t n_value;
	char **dataset; /* names of the texts, as stated in the files */
	uint32_t n_dataset;
	uint32_t n_chunk; /* chunks of text; 0: unknown */
	uint32_t chunk_tokens; /* tokens in a chunk */
};

/* Makes an empty matrix. */
void lmi_imatrix_init(struct lmi_imatrix *m);
/* m may be zeroed. */
void lmi_imatrix_fini(struct lmi_imatrix *m);

/* Adds the contents of a file of either format: sums and counts of the same name are added, which
 * requires the same shape; one count for all matrices stands for that many equal ones.
 * LMD_CORRUPT: truncated file, impossible counts or sizes, negative or non-finite numbers, sums
 * without counts.  On failure *m may hold a part of the file. */
enum lmd_status lmi_imatrix_read(struct lmi_imatrix *m, const char *path, struct lmd_error *err);

/* Returns NULL if there is none of that name. */
const struct lmi_imatrix_entry *lmi_imatrix_find(const struct lmi_imatrix *m, const char *name);

/* Finds or creates (zeroed) the entry of that name and shape.  with_sum: with plain sums.  n must
 * be a multiple of n_count.  LMD_INVALID if it exists with another shape. */
enum lmd_status lmi_imatrix_entry(struct lmi_imatrix *m, const char *name, uint64_t n,
				  uint32_t n_count, bool with_sum, struct lmi_imatrix_entry **out,
				  struct lmd_error *err);

enum lmd_status lmi_imatrix_add_dataset(struct lmi_imatrix *m, const char *text, size_t n,
					struct lmd_error *err);

/* Writes the means to mean[n]; 1 for all columns of a matrix that was never used. */
void lmi_imatrix_means(const struct lmi_imatrix_entry *e, float *mean);

/* Write the file, which replaces `path` when it is complete.  GGUF keeps everything; ".dat" omits
 * plain sums, unused entries and all but the last data set. */
enum lmd_status lmi_imatrix_write_gguf(const struct lmi_imatrix *m, const char *path,
				       struct lmd_error *err);
enum lmd_status lmi_imatrix_write_dat(const struct lmi_imatrix *m, const char *path,
				      struct lmd_error *err);

/* Statistics of one entry, over the columns of matrices that were used. */
struct lmi_imatrix_stats {
	uint64_t n;	       /* columns */
	double sum;	       /* of the mean squares */
	double min, max, mean, deviation;
	double active;	       /* share of columns above 1e-5 */
	double entropy;	       /* of the means as a distribution, in bits */
	double max_entropy;    /* the maximum for n columns, log2(n) */
	double outliers;       /* share more than one deviation from the mean */
	double cosine;	       /* with the same tensor of the previous layer; NaN if there is
			        * none */
};
void lmi_imatrix_stats(const struct lmi_imatrix *m, const struct lmi_imatrix_entry *e,
		       struct lmi_imatrix_stats *out);

/* ---- for the readers ---- */

/* Adds n values and their counts to an entry; sum may be NULL. */
enum lmd_status lmi_imatrix_add(struct lmi_imatrix *m, const char *name, uint64_t n,
				uint32_t n_count, const float *sum2, const float *sum,
				const float *count, struct lmd_error *err);
struct lmi_file;
enum lmd_status lmi_imatrix_read_dat(struct lmi_imatrix *m, const struct lmi_file *f,
				     struct lmd_error *err);
enum lmd_status lmi_imatrix_read_gguf(struct lmi_imatrix *m, const char *path,
				      struct lmd_error *err);

#endif /* LLAMAD_CORE_CHECKPOINT_IMATRIX_IMATRIX_H */
