/* SPDX-License-Identifier: MIT
 *
 * partial.h - a new file that a later run can go on with when this one does not end.
 *
 * As lmi_new_file, but what is written lies in "PATH.partial" until commit, and the journal
 * "PATH.partial.journal" tells which stretches of it are whole.  A process that dies leaves
 * both.  The next open with the same key reads the stretches back, keeps those whose bytes are as
 * they were written, up to the first that is not, and cuts off the rest: nothing depends on the
 * order in which the system brought data to disk.
 *
 * Journal: 8 bytes "lmdpart1", the key; then for each stretch u64 where it ends, u64 its
 * fingerprint, little-endian. */
#ifndef LLAMAD_CORE_BASE_PARTIAL_H
#define LLAMAD_CORE_BASE_PARTIAL_H

#include "core/base/file.h"
#include "core/base/fingerprint.h"

#define LMI_PARTIAL_KEY 32

struct lmi_partial {
	struct lmi_new_file file;
	int journal;
	char *journal_path;
	struct lmi_fingerprint sum; /* of the stretch in work */
	uint32_t n_stretch;
};

struct lmi_partial_opts {
	/* Stands for all that the bytes depend on: a file with another key is begun anew. */
	uint8_t key[LMI_PARTIAL_KEY];
	bool anew; /* do not look at what there is */
	/* Told while stretches are read back, with the bytes so far; false gives up
	 * (LMD_CANCELLED), and both files stay.  NULL: nobody. */
	bool (*progress)(void *arg, uint64_t done);
	void *progress_arg;
};

/* What open found: nothing (or it was not to look), a file with another key, a file of which no
 * stretch is whole, or one whose first n_stretch stretches were kept. */
enum lmi_partial_found {
	LMI_PARTIAL_NOTHING,
	LMI_PARTIAL_OTHER,
	LMI_PARTIAL_DAMAGED,
	LMI_PARTIAL_KEPT,
};

/* Afterwards p->file.bytes bytes in p->n_stretch stretches are there.  LMD_BUSY: another process
 * writes it.  LMD_INVALID: path or the partial file is no regular file, or the partial file is
 * another user's. */
enum lmd_status lmi_partial_open(struct lmi_partial *p, const char *path, unsigned mode,
				 const struct lmi_partial_opts *o, enum lmi_partial_found *found,
				 struct lmd_error *err);
/* Forgets what there is. */
enum lmd_status lmi_partial_restart(struct lmi_partial *p, struct lmd_error *err);
/* The next n bytes. */
enum lmd_status lmi_partial_write(struct lmi_partial *p, const void *data, size_t n,
				  struct lmd_error *err);
/* A stretch ends here. */
enum lmd_status lmi_partial_mark(struct lmi_partial *p, struct lmd_error *err);

/* One of these ends it; after open failed, none.  A commit that failed does not: all is there,
 * and is kept or removed. */
enum lmd_status lmi_partial_commit(struct lmi_partial *p, struct lmd_error *err);
void lmi_partial_keep(struct lmi_partial *p);  /* for a later run */
void lmi_partial_abort(struct lmi_partial *p); /* removes both files */

#endif /* LLAMAD_CORE_BASE_PARTIAL_H */
