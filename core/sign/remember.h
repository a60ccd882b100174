/* SPDX-License-Identifier: MIT
 *
 * remember.h - files whose digests this process has computed, so that a model that is opened again
 * is not hashed again.  A table of LMI_SIGN_REMEMBERED entries; the oldest one is replaced. */
#ifndef LLAMAD_CORE_SIGN_REMEMBER_H
#define LLAMAD_CORE_SIGN_REMEMBER_H

#include "core/sign/chunks.h"

#define LMI_SIGN_REMEMBERED 4096u

/* Computes what stands for the contents of a file: the SHA-256 of its size, the chunk size and the
 * digests of its chunks.  Returns false if memory runs out or the thread's cancel word is set. */
bool lmi_sign_content(uint8_t out[LMI_SHA256_BYTES], uint64_t bytes, uint32_t chunk_bytes,
		      const uint8_t (*chunks)[LMI_SHA256_BYTES], uint32_t n);

/* Returns whether a file of that identity is known to have that content.  Any thread. */
bool lmi_sign_is_remembered(const struct lmi_sign_identity *id,
			    const uint8_t content[LMI_SHA256_BYTES]);
/* Any thread. */
void lmi_sign_remember(const struct lmi_sign_identity *id, const uint8_t content[LMI_SHA256_BYTES]);

/* The time of files that are written now.  A file whose times are not before the one that this
 * returned when hashing began may change without new times, and is not remembered. */
int64_t lmi_sign_file_clock(void);
bool lmi_sign_identity_is_before(const struct lmi_sign_identity *id, int64_t clock_ns);

#endif /* LLAMAD_CORE_SIGN_REMEMBER_H */
