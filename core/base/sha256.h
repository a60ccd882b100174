/* SPDX-License-Identifier: MIT
 *
 * sha256.h - SHA-256 (FIPS 180-4) of bytes that arrive in pieces. */
#ifndef LLAMAD_CORE_BASE_SHA256_H
#define LLAMAD_CORE_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LMI_SHA256_BYTES 32
#define LMI_SHA256_HEX   65 /* hex digits and a terminating zero */

struct lmi_sha256 {
	void *state; /* NULL: not initialised */
	bool failed, cancelled;
};

/* Returns false if memory runs out; no fini is needed then. */
bool lmi_sha256_init(struct lmi_sha256 *h);

/* Adds a piece of any size. If the thread's cancel word (cancel.h) is set, sets h->cancelled and
 * ignores all further bytes. */
void lmi_sha256_update(struct lmi_sha256 *h, const void *data, size_t n);

/* Returns the digest of all pieces; the struct is empty afterwards. Returns false if the library
 * failed or the work was cancelled. */
bool lmi_sha256_final(struct lmi_sha256 *h, uint8_t out[LMI_SHA256_BYTES]);

/* Discards the state; does nothing after final or for a zeroed struct. */
void lmi_sha256_fini(struct lmi_sha256 *h);

/* Computes HMAC-SHA256 (RFC 2104) of n bytes.  Returns false if the library failed. */
bool lmi_sha256_hmac(uint8_t out[LMI_SHA256_BYTES], const void *key, size_t n_key,
		     const void *bytes, size_t n);

/* Returns whether the text is 64 lower-case hex digits and a zero; reads no further. */
bool lmi_sha256_is_hex(const char *text);

/* Writes lower-case hex digits. */
void lmi_sha256_hex(char out[LMI_SHA256_HEX], const uint8_t digest[LMI_SHA256_BYTES]);

#endif /* LLAMAD_CORE_BASE_SHA256_H */
