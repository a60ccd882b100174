/* SPDX-License-Identifier: MIT
 *
 * verify.h - signs a model and checks the manifest of one.
 *
 * The manifest of a file stands beside it as FILE.sig, that of a folder in it as model.sig.  For a
 * file without one, the model.sig of its folder is used.  A manifest of one file does not depend on
 * the file's name; one of several files does, except where the caller names the parts of a set. */
#ifndef LLAMAD_CORE_SIGN_VERIFY_H
#define LLAMAD_CORE_SIGN_VERIFY_H

#include "core/sign/chunks.h"
#include "core/sign/manifest.h"

#define LMI_SIGN_SUFFIX	     ".sig"
#define LMI_SIGN_FOLDER_NAME "model.sig"
#define LMI_SIGN_PATH_MAX    4352u

/* What is known of the signature of a model. */
enum lmi_sign_state {
	LMI_SIGN_UNKNOWN,     /* the check did not end */
	LMI_SIGN_VALID,	      /* every byte is what the owner of a trusted key has signed */
	LMI_SIGN_NONE,	      /* there is no manifest */
	LMI_SIGN_UNKNOWN_KEY, /* the key of the manifest is not trusted */
	LMI_SIGN_BAD_MANIFEST,/* the manifest is malformed, or its signature is wrong */
	LMI_SIGN_CHANGED      /* a file is missing or differs */
};
/* "valid", "none", "unknown-key", "bad-manifest", "changed"; "unknown" otherwise. */
const char *lmi_sign_state_word(enum lmi_sign_state s);

/* A model to check.  files: the parts of a set in order, the first of which is the path; NULL: they
 * are found by their names in the manifest. */
struct lmi_sign_subject {
	const char *path;
	const char *const *files;
	uint32_t n_files;
};

struct lmi_sign_result {
	enum lmi_sign_state state;
	char manifest[LMI_SIGN_PATH_MAX]; /* its path, or where one was looked for */
	char key_id[LMI_SIGN_KEY_ID];	  /* "": not known */
	uint64_t bytes, hashed;		  /* of all files, and those that were read now */
	uint32_t n_files;
	struct lmi_sign_identity *ids;	  /* [n_files] if valid; freed by lmi_sign_result_fini */
};
/* *r may be zeroed. */
void lmi_sign_result_fini(struct lmi_sign_result *r);

/* Checks a model.  LMD_OK: it is valid.  LMD_DENIED: there is no manifest, or its key is unknown;
 * LMD_CORRUPT: the manifest or a file is wrong; for these r->state has the cause.  LMD_CANCELLED,
 * LMD_IO, LMD_NOMEM: nothing is known.  Messages name the file and what to do.  Fini *r in any case.
 * Any thread. */
enum lmd_status lmi_sign_verify(struct lmi_sign_result *r, const struct lmi_sign_subject *s,
				const struct lmi_sign_public *keys, uint32_t n_keys,
				const struct lmi_sign_work *work, struct lmd_error *err);

/* Signs a file, a set of GGUF parts (by its first one) or the files of a folder, and writes the
 * manifest, which replaces an older one.  Files of a folder whose name begins with "." or ends in
 * ".sig" are left out, and so are folders in it.  path_out: where the manifest is;
 * LMI_SIGN_PATH_MAX bytes. */
enum lmd_status lmi_sign_make(char *path_out, const char *path, const struct lmi_sign_private *key,
			      uint32_t chunk_bytes, const struct lmi_sign_work *work,
			      struct lmd_error *err);

/* Writes the path of the manifest that belongs to a model; returns whether it exists.  If it does
 * not, the path is where one would be looked for first. */
bool lmi_sign_find(char out[LMI_SIGN_PATH_MAX], const char *path);

#endif /* LLAMAD_CORE_SIGN_VERIFY_H */
