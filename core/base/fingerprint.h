/* SPDX-License-Identifier: MIT
 *
 * fingerprint.h - a fast 64-bit fingerprint of bytes that arrive in pieces.
 *
 * It detects bytes that were not written completely, and other contents. It does not resist
 * somebody who constructs two contents with the same fingerprint: use sha256.h for that. */
#ifndef LLAMAD_CORE_BASE_FINGERPRINT_H
#define LLAMAD_CORE_BASE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#define LMI_FINGERPRINT_BLOCK 32

struct lmi_fingerprint {
	uint64_t acc[LMI_FINGERPRINT_BLOCK / 8];
	uint64_t bytes;
	uint8_t partial[LMI_FINGERPRINT_BLOCK]; /* bytes that do not yet fill a block */
};

void lmi_fingerprint_init(struct lmi_fingerprint *f);
/* Adds a piece of any size; how the bytes are split makes no difference. */
void lmi_fingerprint_add(struct lmi_fingerprint *f, const void *data, size_t n);
/* Returns the fingerprint of all bytes so far; more may follow. */
uint64_t lmi_fingerprint_get(const struct lmi_fingerprint *f);

#endif /* LLAMAD_CORE_BASE_FINGERPRINT_H */
