/* SPDX-License-Identifier: MIT
 *
 * split_merge.h - splits a model into a set of files, and merges a set into one file.
 *
 * Both are the same operation: an open model, however many files it has, is written as N files;
 * with N = 1 the result is not a set.  Keys go to the first file, split.* keys of the source are
 * dropped, tensors keep their order and their bytes.  Data is read from the files in pieces, not
 * through a mapping. */
#ifndef LLAMAD_CORE_FORMAT_GGUF_SPLIT_MERGE_H
#define LLAMAD_CORE_FORMAT_GGUF_SPLIT_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/format/format.h"
#include "core/format/gguf/write.h"

struct lmi_gguf_split_opts {
	uint64_t max_bytes;   /* per file; exceeded only by a single larger tensor; 0 = no limit */
	uint32_t max_tensors; /* per file; 0 = no limit */
	bool keys_only;       /* the first file contains keys but no tensors */
};

struct lmi_gguf_part {
	uint32_t first, n; /* range in the model's tensor table */
	uint64_t head;	   /* bytes of keys and table, without padding */
	uint64_t data;	   /* bytes of data, with padding */
};

struct lmi_gguf_parts {
	struct lmi_gguf_part *v;
	uint32_t n; /* 1..LMI_GGUF_MAX_PARTS */
};

/* Chooses the parts; without any limit there is one.  Returns LMD_INVALID if there would be more
 * than LMI_GGUF_MAX_PARTS.  Call lmi_gguf_parts_fini afterwards, also after a failure. */
enum lmd_status lmi_gguf_plan_parts(struct lmi_gguf_parts *out, const struct lmi_model *m,
				    const struct lmi_gguf_split_opts *limits,
				    struct lmd_error *err);
/* Size of the whole file in bytes. */
uint64_t lmi_gguf_part_bytes(const struct lmi_model *m, const struct lmi_gguf_part *part);
void lmi_gguf_parts_fini(struct lmi_gguf_parts *p);

/* Destination of the parts.  The callback gets the bytes written so far out of the data of all
 * parts and can cancel (see write.h). */
struct lmi_gguf_parts_dest {
	const char *const *paths;
	lmi_gguf_progress_fn progress; /* may be NULL */
	void *arg;
};

/* Writes all parts, the first one last: a set is opened by its first file, so once that file exists
 * all others do.  m may be open with LMI_OPEN_HEADER_ONLY.  No path may be a file of m. */
enum lmd_status lmi_gguf_write_parts(const struct lmi_model *m, const struct lmi_gguf_parts *p,
				     const struct lmi_gguf_parts_dest *to, struct lmd_error *err);

/* Returns the name of file i of n, PREFIX-00001-of-0000N.gguf; the caller frees it.  NULL if out of
 * memory. */
char *lmi_gguf_part_name(const char *prefix, uint32_t i, uint32_t n);

#endif /* LLAMAD_CORE_FORMAT_GGUF_SPLIT_MERGE_H */
