/* SPDX-License-Identifier: MIT
 *
 * Ed25519 keys and their files.  A private key is written once and never replaced: a lost one
 * cannot be made again. */
#include "core/sign/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/base/printable.h"
#include "core/base/sha256.h"

#define SHOW	 112
#define PATH_MAX_BYTES 4000u

/* ---- of libcrypto ---- */

static bool describe(struct lmi_sign_public *out, const EVP_PKEY *key)
{
	uint8_t digest[LMI_SHA256_BYTES];
	size_t n = sizeof(out->bytes);
	char hex[LMI_SHA256_HEX];
	struct lmi_sha256 h;

	if (EVP_PKEY_get_raw_public_key(key, out->bytes, &n) != 1 || n != sizeof(out->bytes) ||
	    !lmi_sha256_init(&h))
		return false;
	lmi_sha256_update(&h, out->bytes, n);
	if (!lmi_sha256_final(&h, digest))
		return false;
	lmi_sha256_hex(hex, digest);
	memcpy(out->id, hex, LMI_SIGN_KEY_ID - 1);
	out->id[LMI_SIGN_KEY_ID - 1] = 0;
	return true;
}

/* An encrypted key would make libcrypto ask on the terminal. */
static int no_password(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

static EVP_PKEY *from_pem(const char *text, size_t n, bool private_key)
{
	BIO *bio = BIO_new_mem_buf(text, (int)n);
	EVP_PKEY *key = NULL;

	if (bio)
		key = private_key ? PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL)
				  : PEM_read_bio_PUBKEY(bio, NULL, no_password, NULL);
	BIO_free(bio);
	if (key && EVP_PKEY_base_id(key) != EVP_PKEY_ED25519) {
		EVP_PKEY_free(key);
		key = NULL;
	}
	return key;
}

bool lmi_sign_bytes(const struct lmi_sign_private *k, const void *data, size_t n,
		    uint8_t signature[LMI_SIGN_SIGNATURE_BYTES])
{
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	size_t bytes = LMI_SIGN_SIGNATURE_BYTES;
	bool ok = c && EVP_DigestSignInit(c, NULL, NULL, NULL, k->key) == 1 &&
		  EVP_DigestSign(c, signature, &bytes, data, n) == 1 &&
		  bytes == LMI_SIGN_SIGNATURE_BYTES;

	EVP_MD_CTX_free(c);
	return ok;
}

bool lmi_sign_bytes_ok(const struct lmi_sign_public *k, const void *data, size_t n,
		       const uint8_t signature[LMI_SIGN_SIGNATURE_BYTES])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, k->bytes,
						    sizeof(k->bytes));
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	bool ok = key && c && EVP_DigestVerifyInit(c, NULL, NULL, NULL, key) == 1 &&
		  EVP_DigestVerify(c, signature, LMI_SIGN_SIGNATURE_BYTES, data, n) == 1;

	EVP_MD_CTX_free(c);
	EVP_PKEY_free(key);
	return ok;
}

/* ---- files ---- */

static enum lmd_status read_key(EVP_PKEY **out, const char *path, bool private_key,
				struct lmd_error *err)
{
	char *text = NULL, show[SHOW];
	size_t n = 0;
	enum lmd_status st = lmi_file_read_all(path, LMI_SIGN_KEY_FILE_BYTES, &text, &n, err);

	if (st != LMD_OK)
		return st;
	*out = from_pem(text, n, private_key);
	OPENSSL_cleanse(text, n);
	lmi_free(text);
	if (*out)
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"%s: no %s Ed25519 key in PEM; `llamactl sign --new-key NAME` makes one",
			lmi_printable_path(show, sizeof(show), path),
			private_key ? "unencrypted private" : "public");
}

enum lmd_status lmi_sign_private_read(struct lmi_sign_private *out, const char *path,
				      struct lmd_error *err)
{
	EVP_PKEY *key = NULL;
	struct stat sb;
	enum lmd_status st;
	char show[SHOW];

	if (stat(path, &sb) == 0 && sb.st_mode & 077)
		return lmd_fail(err, LMD_DENIED,
				"%s: has mode %04o, but a private key must be accessible to its "
				"owner alone: chmod 600",
				lmi_printable_path(show, sizeof(show), path),
				(unsigned)(sb.st_mode & 07777));
	st = read_key(&key, path, true, err);
	if (st != LMD_OK)
		return st;
	*out = (struct lmi_sign_private){.key = key};
	if (describe(&out->public_key, key))
		return LMD_OK;
	lmi_sign_private_fini(out);
	return lmd_fail(err, LMD_NOMEM, "no memory for a key");
}

void lmi_sign_private_fini(struct lmi_sign_private *k)
{
	EVP_PKEY_free(k->key);
	*k = (struct lmi_sign_private){0};
}

enum lmd_status lmi_sign_public_read(struct lmi_sign_public *out, const char *path,
				     struct lmd_error *err)
{
	struct lmi_sign_public k;
	EVP_PKEY *key = NULL;
	enum lmd_status st = read_key(&key, path, false, err);

	if (st != LMD_OK)
		return st;
	if (!describe(&k, key))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a key");
	EVP_PKEY_free(key);
	if (st == LMD_OK)
		*out = k;
	return st;
}

/* Writes a file that did not exist. */
static enum lmd_status write_new(const char *path, mode_t mode, BIO *bio, struct lmd_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	char *text, show[SHOW];
	long n = BIO_get_mem_data(bio, &text);
	bool ok;

	(void)lmi_printable_path(show, sizeof(show), path);
	if (fd < 0)
		return lmd_fail(err, errno == EEXIST ? LMD_BUSY : LMD_IO, "%s: %s", show,
				errno == EEXIST ? "exists already; choose another name"
						: strerror(errno));
	ok = n > 0 && lmi_file_write_all(fd, text, (size_t)n) && fsync(fd) == 0;
	if (!ok)
		(void)lmd_fail(err, LMD_IO, "%s: cannot write: %s", show, strerror(errno));
	if (close(fd) < 0 && ok) {
		(void)lmd_fail(err, LMD_IO, "%s: close: %s", show, strerror(errno));
		ok = false;
	}
	if (!ok)
		(void)unlink(path);
	return ok ? LMD_OK : LMD_IO;
}

enum lmd_status lmi_sign_key_create(struct lmi_sign_public *out, const char *name,
				    struct lmd_error *err)
{
	char private_path[PATH_MAX_BYTES + 8], public_path[PATH_MAX_BYTES + 8];
	BIO *a = BIO_new(BIO_s_mem()), *b = BIO_new(BIO_s_mem());
	struct lmi_sign_public k;
	EVP_PKEY *key = NULL;
	enum lmd_status st;

	if (strlen(name) > PATH_MAX_BYTES) {
		st = lmd_fail(err, LMD_INVALID, "name of %zu bytes, must be at most %u",
			      strlen(name), PATH_MAX_BYTES);
		goto end;
	}
	(void)snprintf(private_path, sizeof(private_path), "%s.key", name);
	(void)snprintf(public_path, sizeof(public_path), "%s.pub", name);
	key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	if (!a || !b || !key || !describe(&k, key) ||
	    PEM_write_bio_PKCS8PrivateKey(a, key, NULL, NULL, 0, NULL, NULL) != 1 ||
	    PEM_write_bio_PUBKEY(b, key) != 1) {
		st = lmd_fail(err, LMD_INTERNAL, "libcrypto cannot make an Ed25519 key");
		goto end;
	}
	st = write_new(private_path, 0600, a, err);
	if (st == LMD_OK) {
		st = write_new(public_path, 0644, b, err);
		if (st != LMD_OK)
			(void)unlink(private_path);
	}
	if (st == LMD_OK)
		*out = k;
end:
	EVP_PKEY_free(key);
	BIO_free(a);
	BIO_free(b);
	return st;
}
