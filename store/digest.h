/* SPDX-License-Identifier: MIT
 *
 * digest.h - the SHA-256 of a model's files.  Any thread; needs no store. */
#ifndef LLAMAD_STORE_DIGEST_H
#define LLAMAD_STORE_DIGEST_H

#include <stdatomic.h>
#include <stdint.h>

#include "store/store.h"

/* Callbacks for long work on a file.  All members are optional. */
struct lmi_store_work {
	/* Called after each piece of at most 4 MiB and at the end, on the working thread; `total`
	 * is the size of the file. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	/* May be set by any thread: the work then ends with LMD_CANCELLED before its next piece. */
	const _Atomic bool *cancel;
};

/* Computes digest and identity of a file; reads it once from start to end.
 *
 * path: a regular file whose last path component is not a symbolic link; opening it never blocks.
 *       Borrowed: out->path points to it.
 * out:  written on success.  LMD_BUSY: the file changed while it was being read.  LMD_NOTFOUND,
 * LMD_INVALID (not a regular file, or a link), LMD_IO, LMD_CANCELLED, LMD_NOMEM. */
LMD_NODISCARD enum lmd_status lmi_store_digest_file(struct lmi_store_file *out, const char *path,
						    const struct lmi_store_work *work,
						    struct lmd_error *err);

/* Computes the digest of a model of n >= 1 files: that of the file if there is only one, otherwise
 * the SHA-256 of all digests in order, each as 64 hexadecimal digits and a newline. */
LMD_NODISCARD enum lmd_status lmi_store_digest_join(char out[LMI_STORE_DIGEST_HEX],
						    const struct lmi_store_file *files, uint32_t n,
						    struct lmd_error *err);

/* Returns whether hex is 64 lower-case hexadecimal digits and a zero. */
bool lmi_store_digest_ok(const char *hex);

#endif /* LLAMAD_STORE_DIGEST_H */
