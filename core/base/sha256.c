/* SPDX-License-Identifier: MIT
 *
 * SHA-256 from libcrypto, which uses the processor's SHA instructions where available. Only this
 * file would change for another library. */
#include "core/base/sha256.h"

#include <limits.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "core/base/cancel.h"

/* Bytes between two looks at the cancel word, and bytes that take as long as a step without SHA
 * instructions. */
#define PIECE	       (1u << 20)
#define BYTES_PER_STEP 2

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
	const char *p = data;

	while (n && !h->failed) {
		size_t k = n < PIECE ? n : PIECE;

		h->failed = !EVP_DigestUpdate(h->state, p, k);
		h->cancelled = !lmi_cancel_step(k / BYTES_PER_STEP);
		h->failed |= h->cancelled;
		p += k;
		n -= k;
	}
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

bool lmi_sha256_hmac(uint8_t out[LMI_SHA256_BYTES], const void *key, size_t n_key,
		     const void *bytes, size_t n)
{
	unsigned got = 0;

	return n_key <= INT_MAX && HMAC(EVP_sha256(), key, (int)n_key, bytes, n, out, &got) &&
	       got == LMI_SHA256_BYTES;
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

bool lmi_sha256_is_hex(const char *text)
{
	size_t n = 0;

	while (n < LMI_SHA256_HEX - 1 &&
	       ((text[n] >= '0' && text[n] <= '9') || (text[n] >= 'a' && text[n] <= 'f')))
		n++;
	return n == LMI_SHA256_HEX - 1 && !text[n];
}
