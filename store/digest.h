/* SPDX-License-Identifier: MIT
 *
 * digest.h - the SHA-256 of a model's files.  Any thread; no store needed. */
#ifndef LLAMAD_STORE_DIGEST_H
#define LLAMAD_STORE_DIGEST_H

#include <stdatomic.h>
#include <stdint.h>

#include "store/store.h"

/* Work on a file that takes long.  All members optional. */
struct lmi_store_work {
	/* After each piece of at most 4 MiB and at the end; `total` is the size of the file.  On
	 * the thread that works. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	/* Set by any thread: the work ends with LMD_CANCELLED before its next piece. */
	const _Atomic bool *cancel;
};

/* Digest and identity of a file, read once from start to end.
 *
 * path: its last component is not a symbolic link, and it is a regular file; opening it never
 *       waits.  Borrowed: out->path points to it.
 * out:  written on success.
 * LMD_BUSY: it changed while it was read.  LMD_NOTFOUND, LMD_INVALID (not a regular file, a
 * link), LMD_IO, LMD_CANCELLED, LMD_NOMEM. */
LMD_NODISCARD enum lmd_status lmi_store_digest_file(struct lmi_store_file *out, const char *path,
						    const struct lmi_store_work *work,
						    struct lmd_error *err);

/* The digest of a model of n files: of one file its own; of several the SHA-256 of their
 * digests in order, each as 64 hex digits and a newline.  n >= 1. */
LMD_NODISCARD enum lmd_status lmi_store_digest_join(char out[LMI_STORE_DIGEST_HEX],
						    const struct lmi_store_file *files, uint32_t n,
						    struct lmd_error *err);

/* 64 lower-case hex digits and a zero? */
bool lmi_store_digest_ok(const char *hex);

#endif /* LLAMAD_STORE_DIGEST_H */
