/* SPDX-License-Identifier: MIT
 *
 * SHA-256 from libcrypto, which uses the processor's SHA instructions where available. Only this
 * file would change for another library. */
#include "core/base/sha256.h"

#include <openssl/evp.h>

bool lmi_sha256_init(struct lmi_sha256 *h)
{
	*h = (struct lmi_sha256){.state = EVP_MD_CTX_new()};
	if (h->state && EVP_DigestInit_ex(h->state, EVP_sha256(), NULL))
		return true;
	lmi_sha256_fini(h);
	return false;
}

void lmi_sha256_update(struct lmi_sha256 *h, const void *data, size_t n)
{
	if (!EVP_DigestUpdate(h->state, data, n))
		h->failed = true;
}

bool lmi_sha256_final(struct lmi_sha256 *h, uint8_t out[LMI_SHA256_BYTES])
{
	unsigned n = 0;
	bool ok = !h->failed && EVP_DigestFinal_ex(h->state, out, &n) && n == LMI_SHA256_BYTES;

	lmi_sha256_fini(h);
	return ok;
}

void lmi_sha256_fini(struct lmi_sha256 *h)
{
	EVP_MD_CTX_free(h->state);
	*h = (struct lmi_sha256){0};
}

void lmi_sha256_hex(char out[LMI_SHA256_HEX], const uint8_t digest[LMI_SHA256_BYTES])
{
	static const char hex[] = "0123456789abcdef";

	for (int i = 0; i < LMI_SHA256_BYTES; i++) {
		out[2 * i] = hex[digest[i] >> 4];
		out[2 * i + 1] = hex[digest[i] & 15];
	}
	out[2 * LMI_SHA256_BYTES] = 0;
}
