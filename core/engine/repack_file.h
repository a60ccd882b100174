/* SPDX-License-Identifier: MIT
 *
 * repack_file.h - the repacked weights of a model on one device as a file, which later loads map.
 *
 *     DIR/KEY    KEY: 64 hex digits
 *     head       96 bytes (offsets in repack_file.c): sizes, the key, and a digest of head and table
 *     weights    the bytes of each at a multiple of LMI_ENGINE_REPACK_ALIGN
 *     table      64 bytes for each weight: its id, its place, its layout, and a checksum of its bytes
 *     (all numbers little-endian)
 *
 * A reader checks owner, mode and length of the file, every number in it and all checksums before it uses a
 * byte. The checksums of the weights find damage and files that were not written completely; nobody but the
 * user of the process can have written the file. What was used longest ago is removed first: the modification
 * time of a file is the time of its last use.
 *
 * Any thread; the functions block on the disk. Long ones count with lmi_cancel_step. */
#ifndef LLAMAD_CORE_ENGINE_REPACK_FILE_H
#define LLAMAD_CORE_ENGINE_REPACK_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/file.h"
#include "core/base/sha256.h"
#include "llamad/status.h"

#define LMI_ENGINE_REPACK_ALIGN 4096u
/* Bytes of the table for each weight. */
#define LMI_ENGINE_REPACK_ENTRY 64u
/* The most weights that a file may have. */
#define LMI_ENGINE_REPACK_WEIGHTS 65536u

/* A weight in a file. */
struct lmi_engine_repack_entry {
	uint8_t id[LMI_SHA256_BYTES];
	uint64_t at, bytes;
	uint64_t checksum; /* core/base/fingerprint.h */
	uint32_t layout;   /* struct lmd_weight_plan */
};

/* ---- reading ---- */

struct lmi_engine_repack_file {
	struct lmi_file file; /* open, for others who map it */
	struct lmi_map map;
	struct lmi_engine_repack_entry *v; /* [n] */
	uint32_t n;
	/* set by the user of the file: */
	bool usable;
	struct lmi_engine_repack_file *older;
};

/* Opens and checks the file of a key, and notes that it was used. LMD_NOTFOUND: there is none; LMD_CORRUPT:
 * damaged, of another version, or not a regular file of this user that others cannot write; LMD_CANCELLED. */
enum lmd_status lmi_engine_repack_file_open(struct lmi_engine_repack_file *out, const char *dir,
					    const uint8_t key[LMI_SHA256_BYTES], struct lmd_error *err);
/* Unmaps the bytes. Does nothing to what failed to open. */
void lmi_engine_repack_file_close(struct lmi_engine_repack_file *f);
/* Returns the weight of an id, NULL: it is not there. *bytes: where it is. */
const struct lmi_engine_repack_entry *
lmi_engine_repack_file_find(const struct lmi_engine_repack_file *f, const uint8_t id[LMI_SHA256_BYTES],
			    const void **bytes);

/* ---- writing ---- */

struct lmi_engine_repack_writer {
	struct lmi_new_file file;
	uint8_t key[LMI_SHA256_BYTES];
	struct lmi_engine_repack_entry *v; /* [n], room for cap */
	uint32_t n, cap;
	uint64_t at; /* end of the last weight */
};

/* Begins the file of a key with room for n weights, in a folder that is created if its parent exists. */
enum lmd_status lmi_engine_repack_writer_open(struct lmi_engine_repack_writer *w, const char *dir,
					      const uint8_t key[LMI_SHA256_BYTES], uint32_t n,
					      struct lmd_error *err);
enum lmd_status lmi_engine_repack_writer_add(struct lmi_engine_repack_writer *w,
					     const uint8_t id[LMI_SHA256_BYTES], uint32_t layout,
					     const void *bytes, uint64_t n, struct lmd_error *err);
/* Completes the file; frees the writer on success and on failure. */
enum lmd_status lmi_engine_repack_writer_commit(struct lmi_engine_repack_writer *w,
						struct lmd_error *err);
/* Removes what was written. Does nothing after a commit, or if opening failed. */
void lmi_engine_repack_writer_abort(struct lmi_engine_repack_writer *w);

/* ---- the folder ---- */

/* Removes files until the others have at most max_bytes, the one that was not used for the longest time
 * first, and what is left of writers that ended long ago. Other names are left alone. replaced: key of a file
 * that is to be replaced, which is neither removed nor counted; NULL: none is. */
void lmi_engine_repack_trim(const char *dir, uint64_t max_bytes, const uint8_t *replaced);

#endif /* LLAMAD_CORE_ENGINE_REPACK_FILE_H */
