/* SPDX-License-Identifier: MIT
 *
 * parts.h - a model cut into a set of files, and a set put together again.
 *
 * Both are the same work: a model that is open, however many files it has, is written as N
 * files; with N = 1 the result is no set.  Keys go to the first file, split.* keys of the source
 * are dropped, tensors keep their order and their bytes.  Data is read from the files and not from
 * a mapping, a piece at a time. */
#ifndef LLAMAD_CORE_FORMAT_GGUF_PARTS_H
#define LLAMAD_CORE_FORMAT_GGUF_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/format/format.h"
#include "core/format/gguf/write.h"

struct lmi_gguf_cut {
	uint64_t max_bytes;   /* of a file, as far as single tensors allow; 0 = no bound */
	uint32_t max_tensors; /* of a file; 0 = no bound */
	bool keys_alone;      /* the first file has keys and no tensors */
};

struct lmi_gguf_part {
	uint32_t first, n; /* tensors in the order of the model's table */
	uint64_t head;	   /* bytes of keys and table, without padding */
	uint64_t data;	   /* bytes of padded data */
};

struct lmi_gguf_parts {
	struct lmi_gguf_part *v;
	uint32_t n; /* 1..LMI_GGUF_MAX_PARTS */
};

/* Chooses the parts; without any bound there is one.  LMD_INVALID when there would be more than
 * LMI_GGUF_MAX_PARTS.  Release with fini, also after a failure. */
enum lmd_status lmi_gguf_cut(struct lmi_gguf_parts *out, const struct lmi_model *m,
			     const struct lmi_gguf_cut *how, struct lmd_error *err);
/* Bytes of the whole file. */
uint64_t lmi_gguf_part_bytes(const struct lmi_model *m, const struct lmi_gguf_part *part);
void lmi_gguf_parts_fini(struct lmi_gguf_parts *p);

/* Where the parts go, and who is told after each piece how many bytes of all data are written
 * (and may give up, see write.h). */
struct lmi_gguf_parts_to {
	const char *const *paths;
	lmi_gguf_progress_fn progress; /* NULL: nobody */
	void *arg;
};

/* Writes all parts, the first one last: a set is opened by its first file, so whoever finds that
 * finds the others.  m may be open with LMI_OPEN_HEADER_ONLY.  No path may be a file of m. */
enum lmd_status lmi_gguf_write_parts(const struct lmi_model *m, const struct lmi_gguf_parts *p,
				     const struct lmi_gguf_parts_to *to, struct lmd_error *err);

/* The name of file i of n: PREFIX-00001-of-0000N.gguf, on the heap; NULL without memory. */
char *lmi_gguf_part_name(const char *prefix, uint32_t i, uint32_t n);

#endif /* LLAMAD_CORE_FORMAT_GGUF_PARTS_H */
