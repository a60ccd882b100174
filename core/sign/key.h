/* SPDX-License-Identifier: MIT
 *
 * key.h - keys that sign models: Ed25519 (RFC 8032) by libcrypto, in PEM files as openssl writes
 * them (PKCS #8 and SubjectPublicKeyInfo). */
#ifndef LLAMAD_CORE_SIGN_KEY_H
#define LLAMAD_CORE_SIGN_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_SIGN_PUBLIC_BYTES	 32
#define LMI_SIGN_SIGNATURE_BYTES 64
#define LMI_SIGN_KEY_ID		 17 /* 16 hex digits and a zero */
#define LMI_SIGN_KEY_FILE_BYTES	 16384u

/* A public key.  The id is the first 16 hex digits of the SHA-256 of its bytes: it finds the key and
 * proves nothing. */
struct lmi_sign_public {
	uint8_t bytes[LMI_SIGN_PUBLIC_BYTES];
	char id[LMI_SIGN_KEY_ID];
};

/* A private key; `key` is an object of libcrypto. */
struct lmi_sign_private {
	void *key;
	struct lmi_sign_public public_key;
};

/* Makes a new key and writes it to NAME.key, with mode 0600, and NAME.pub.  LMD_BUSY if one of the
 * files exists. */
enum lmd_status lmi_sign_key_create(struct lmi_sign_public *out, const char *name,
				    struct lmd_error *err);

/* Reads a private key.  LMD_DENIED: others than the owner may read the file; LMD_INVALID: it has no
 * Ed25519 key, or an encrypted one. */
enum lmd_status lmi_sign_private_read(struct lmi_sign_private *out, const char *path,
				      struct lmd_error *err);
/* *k may be zeroed. */
void lmi_sign_private_fini(struct lmi_sign_private *k);

/* Reads a public key.  LMD_INVALID: the file has no Ed25519 key. */
enum lmd_status lmi_sign_public_read(struct lmi_sign_public *out, const char *path,
				     struct lmd_error *err);

/* Signs n bytes.  Returns false if libcrypto fails. */
bool lmi_sign_bytes(const struct lmi_sign_private *k, const void *data, size_t n,
		    uint8_t signature[LMI_SIGN_SIGNATURE_BYTES]);
/* Returns whether the signature of the n bytes was made with the private half of the key. */
bool lmi_sign_bytes_ok(const struct lmi_sign_public *k, const void *data, size_t n,
		       const uint8_t signature[LMI_SIGN_SIGNATURE_BYTES]);

#endif /* LLAMAD_CORE_SIGN_KEY_H */
