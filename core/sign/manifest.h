/* SPDX-License-Identifier: MIT
 *
 * manifest.h - the signed manifest of a model: the SHA-256 of every chunk of every file.
 *
 * A text file of lines that end in LF (docs/signatures.md has the format):
 *
 *     llamad-model-manifest 1
 *     key 0123456789abcdef
 *     chunk 4194304
 *     file 8388708 NAME
 *     sha256 <64 hex digits>          one line for each chunk of the file, in order
 *     ...                             further files, names in ascending order of their bytes
 *     signature <128 hex digits>      of all bytes above this line
 *
 * There is one way to write a manifest, and only that one is accepted.  The envelope (first two
 * lines and the last) is read without the rest, so that nothing unsigned is interpreted. */
#ifndef LLAMAD_CORE_SIGN_MANIFEST_H
#define LLAMAD_CORE_SIGN_MANIFEST_H

#include "core/base/sha256.h"
#include "core/sign/key.h"

#define LMI_SIGN_CHUNK_DEFAULT	(4u << 20)
#define LMI_SIGN_CHUNK_MIN	(64u << 10) /* chunk sizes are powers of two */
#define LMI_SIGN_CHUNK_MAX	(64u << 20)
#define LMI_SIGN_FILES_MAX	4096u
#define LMI_SIGN_NAME_MAX	255u
#define LMI_SIGN_CHUNKS_MAX	(1u << 20) /* of all files */
#define LMI_SIGN_MANIFEST_BYTES (80u << 20)

struct lmi_sign_file {
	const char *name; /* without a folder; not "." or "..", no control characters */
	uint64_t bytes;
	uint32_t first_chunk, n_chunks; /* n_chunks = bytes / chunk size, rounded up */
};

struct lmi_sign_manifest {
	char key_id[LMI_SIGN_KEY_ID];
	uint32_t chunk_bytes;
	uint32_t n_files, n_chunks;
	uint64_t bytes;		     /* of all files */
	struct lmi_sign_file *files; /* [n_files], at least one */
	uint8_t (*chunks)[LMI_SHA256_BYTES]; /* [n_chunks] */
	char *names;		     /* holds the names */
};

/* What is known of a manifest before its signature is checked. */
struct lmi_sign_envelope {
	char key_id[LMI_SIGN_KEY_ID];
	size_t signed_bytes; /* the signature covers the first so many */
	uint8_t signature[LMI_SIGN_SIGNATURE_BYTES];
};

/* Errors name the line; LMD_CORRUPT: the text is not a manifest.  text need not end in a zero. */
enum lmd_status lmi_sign_envelope_parse(struct lmi_sign_envelope *out, const char *text, size_t n,
					struct lmd_error *err);
/* Reads the signed bytes of a manifest.  LMD_CORRUPT, LMD_NOMEM. */
enum lmd_status lmi_sign_manifest_parse(struct lmi_sign_manifest *out, const char *text,
					size_t signed_bytes, struct lmd_error *err);
/* *m may be zeroed. */
void lmi_sign_manifest_fini(struct lmi_sign_manifest *m);

/* Writes the bytes of a manifest that are signed, with room for the signature after them. */
enum lmd_status lmi_sign_manifest_body(char **out, size_t *n, const struct lmi_sign_manifest *m,
				       const char *key_id, struct lmd_error *err);
/* Writes the text of a manifest with its signature; the caller frees *out with lmi_free.  Sets the
 * key's id in the text; everything else is as in *m. */
enum lmd_status lmi_sign_manifest_emit(char **out, size_t *n, const struct lmi_sign_manifest *m,
				       const struct lmi_sign_private *key, struct lmd_error *err);

/* Returns whether a file may have that name in a manifest. */
bool lmi_sign_name_ok(const char *name, size_t n);

#endif /* LLAMAD_CORE_SIGN_MANIFEST_H */
