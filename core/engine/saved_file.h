/* SPDX-License-Identifier: MIT
 *
 * saved_file.h - saved rows (saved.h) as a file.
 *
 *     head     232 bytes: struct lmi_engine_saved_head, its sizes and a checksum of what follows it
 *              up to the rows
 *     tokens   n_token times i32
 *     digests  32 bytes for each MiB of the rows
 *     rows     n_bytes
 *     (all numbers little-endian)
 *
 * Every byte is covered: the head by its own SHA-256, which includes those of tokens and digests; the
 * rows by the digests. The length of the file follows from the head. A reader checks each number
 * before it uses it, so that a file from anywhere can be given to it.
 *
 * No threads; the functions block on the disk. */
#ifndef LLAMAD_CORE_ENGINE_SAVED_FILE_H
#define LLAMAD_CORE_ENGINE_SAVED_FILE_H

#include "core/engine/saved.h"

#define LMI_ENGINE_SAVED_VERSION 1u
#define LMI_ENGINE_SAVED_MODEL	 64 /* bytes of a model's name, with its zero */
/* The most tokens that a file may have. */
#define LMI_ENGINE_SAVED_TOKENS (1u << 26)

/* What the rows depend on, and what the file is called by people. */
struct lmi_engine_saved_head {
	uint8_t model[LMI_ENGINE_DIGEST_BYTES];	  /* digest of the model's files */
	uint8_t adapter[LMI_ENGINE_DIGEST_BYTES]; /* of adapters; zeros: none */
	struct lmi_engine_saved_layout layout;
	char model_name[LMI_ENGINE_SAVED_MODEL]; /* for messages; printable ASCII */
	/* set by the reader */
	uint32_t n_token;
	uint64_t n_bytes;    /* of rows */
	uint64_t file_bytes; /* of the whole file */
};

/* Writes the file under a temporary name and renames it when it is on the disk. *file_bytes: its
 * length. */
enum lmd_status lmi_engine_saved_write(const char *path, const struct lmi_engine_saved_head *head,
				       const struct lmi_engine_saved *saved, uint64_t *file_bytes,
				       struct lmd_error *err);
/* Returns the length of such a file. */
uint64_t lmi_engine_saved_file_bytes(uint32_t n_token, uint64_t n_bytes);
/* Reads and checks everything but the rows. own_tokens: NULL, or gets the tokens, which the caller
 * frees with lmi_free. LMD_CORRUPT: damaged, truncated or no such file; LMD_UNSUPPORTED: another
 * version. */
enum lmd_status lmi_engine_saved_read_head(const char *path, struct lmi_engine_saved_head *out,
					   lmd_token **own_tokens, struct lmd_error *err);
/* Do rows with `have` fit an engine with `want`? LMD_INVALID names what differs. */
enum lmd_status lmi_engine_saved_check(const struct lmi_engine_saved_head *have,
				       const struct lmi_engine_saved_head *want,
				       struct lmd_error *err);
/* Reads all of a file that fits `want` (NULL: whatever it is for) and has at most max_bytes of
 * rows. The caller destroys *out. */
enum lmd_status lmi_engine_saved_read(const char *path, const struct lmi_engine_saved_head *want,
				      uint64_t max_bytes, struct lmi_engine_saved **out,
				      struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_SAVED_FILE_H */
