/* SPDX-License-Identifier: MIT
 *
 * resumable_file.h - a new file that a later run can resume if this one is interrupted.
 *
 * Like lmi_new_file, but until commit the data is in "PATH.partial", and the journal
 * "PATH.partial.journal" records which segments of it are complete. A process that dies leaves
 * both. The next open with the same key reads the segments back, keeps those whose bytes match
 * their fingerprints, up to the first that does not, and truncates the rest. So nothing depends on
 * the order in which the system wrote data to disk.
 *
 * Journal: 8 bytes "lmdpart1", the key; then for each segment u64 end offset, u64 fingerprint,
 * little-endian. */
#ifndef LLAMAD_CORE_BASE_RESUMABLE_FILE_H
#define LLAMAD_CORE_BASE_RESUMABLE_FILE_H

#include "core/base/file.h"
#include "core/base/fingerprint.h"

#define LMI_RESUMABLE_FILE_KEY 32

struct lmi_resumable_file {
	struct lmi_new_file file;
	int journal;
	char *journal_path;
	struct lmi_fingerprint sum; /* of the unfinished segment */
	uint32_t n_segment;
};

struct lmi_resumable_file_opts {
	/* Identifies everything that the bytes depend on: a file with another key is started
	 * afresh. */
	uint8_t key[LMI_RESUMABLE_FILE_KEY];
	bool restart; /* ignore existing files */
	/* Called while segments are read back, with the bytes so far; returning false cancels
	 * (LMD_CANCELLED), and both files stay. May be NULL. */
	bool (*progress)(void *arg, uint64_t done);
	void *progress_arg;
};

/* What open found: nothing (or `restart` was set), a file with another key, a file without a
 * complete segment, or a file whose first n_segment segments were kept. */
enum lmi_resumable_file_found {
	LMI_RESUMABLE_FILE_NOTHING,
	LMI_RESUMABLE_FILE_OTHER,
	LMI_RESUMABLE_FILE_DAMAGED,
	LMI_RESUMABLE_FILE_KEPT,
};

/* On success the file holds p->file.bytes bytes in p->n_segment segments. LMD_BUSY: another
 * process is writing it. LMD_INVALID: path or the partial file is not a regular file, or the
 * partial file belongs to another user. */
enum lmd_status lmi_resumable_file_open(struct lmi_resumable_file *p, const char *path,
					unsigned mode, const struct lmi_resumable_file_opts *o,
					enum lmi_resumable_file_found *found,
					struct lmd_error *err);
/* Discards the data written so far. */
enum lmd_status lmi_resumable_file_restart(struct lmi_resumable_file *p, struct lmd_error *err);
/* Appends n bytes. */
enum lmd_status lmi_resumable_file_write(struct lmi_resumable_file *p, const void *data, size_t n,
					 struct lmd_error *err);
/* Ends a segment here. */
enum lmd_status lmi_resumable_file_end_segment(struct lmi_resumable_file *p, struct lmd_error *err);

/* One of these three ends p, unless open failed. After a failed commit nothing is lost: call keep
 * or abort. */
enum lmd_status lmi_resumable_file_commit(struct lmi_resumable_file *p, struct lmd_error *err);
void lmi_resumable_file_keep(struct lmi_resumable_file *p);  /* leaves both files for a later run */
void lmi_resumable_file_abort(struct lmi_resumable_file *p); /* removes both files */

#endif /* LLAMAD_CORE_BASE_RESUMABLE_FILE_H */
