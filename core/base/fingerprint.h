/* SPDX-License-Identifier: MIT
 *
 * fingerprint.h - a 64-bit number of bytes that come in pieces, at the speed of memory.
 *
 * Tells bytes that were written whole from those that were not, or from others.  It is no
 * defence against somebody who looks for two contents with one fingerprint: sha256.h is. */
#ifndef LLAMAD_CORE_BASE_FINGERPRINT_H
#define LLAMAD_CORE_BASE_FINGERPRINT_H

#include <stddef.h>
#include <stdint.h>

#define LMI_FINGERPRINT_BLOCK 32

struct lmi_fingerprint {
	uint64_t lane[LMI_FINGERPRINT_BLOCK / 8];
	uint64_t bytes;
	uint8_t rest[LMI_FINGERPRINT_BLOCK]; /* what fills no block yet */
};

void lmi_fingerprint_init(struct lmi_fingerprint *f);
/* Any number of pieces of any size: how the bytes are cut makes no difference. */
void lmi_fingerprint_add(struct lmi_fingerprint *f, const void *data, size_t n);
/* Of all bytes so far; more may follow. */
uint64_t lmi_fingerprint_get(const struct lmi_fingerprint *f);

#endif /* LLAMAD_CORE_BASE_FINGERPRINT_H */
