/* SPDX-License-Identifier: MIT
 *
 * chunks.h - the SHA-256 of every chunk of files, on several threads. */
#ifndef LLAMAD_CORE_SIGN_CHUNKS_H
#define LLAMAD_CORE_SIGN_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/base/sha256.h"
#include "llamad/status.h"

#define LMI_SIGN_THREADS_MAX 16u

/* How long work runs and reports.  A zeroed struct is valid. */
struct lmi_sign_work {
	/* Called in the calling thread after its chunks and at the end, with bytes; returning false
	 * cancels.  May be NULL.  The cancel word of the calling thread cancels as well. */
	bool (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
	uint32_t n_threads; /* 0: one for each processor, at most LMI_SIGN_THREADS_MAX */
};

/* Which file it is, and as good a sign as the system has that it was not changed. */
struct lmi_sign_identity {
	uint64_t dev, ino, bytes;
	int64_t mtime_ns, ctime_ns;
};
void lmi_sign_identity_of(struct lmi_sign_identity *out, const struct stat *sb);
bool lmi_sign_identity_same(const struct lmi_sign_identity *a, const struct lmi_sign_identity *b);

/* A file whose chunks are hashed: open at fd, with its bytes now.  An empty file has no chunk. */
struct lmi_sign_input {
	const char *path; /* for messages */
	int fd;
	uint64_t bytes;
	uint32_t first_chunk; /* where its digests stand in the arrays */
	bool skip;	      /* its digests are not computed */
};

struct lmi_sign_hash {
	const struct lmi_sign_input *files; /* [n_files] */
	uint32_t n_files, n_chunks, chunk_bytes;
	uint8_t (*digests)[LMI_SHA256_BYTES]; /* [n_chunks], written */
	/* What they have to be; the work ends early once one is not.  NULL: anything. */
	const uint8_t (*expected)[LMI_SHA256_BYTES];
	uint32_t bad_chunk; /* written: the first that is not as expected; UINT32_MAX: none */
};

/* LMD_OK also if a chunk is not as expected.  LMD_IO: a file cannot be read, or ends before its
 * size; LMD_CANCELLED, LMD_NOMEM. */
enum lmd_status lmi_sign_hash_run(struct lmi_sign_hash *h, const struct lmi_sign_work *work,
				  struct lmd_error *err);

/* Number of chunks of a file. */
uint64_t lmi_sign_n_chunks(uint64_t bytes, uint32_t chunk_bytes);

#endif /* LLAMAD_CORE_SIGN_CHUNKS_H */
