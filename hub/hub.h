/* SPDX-License-Identifier: MIT
 *
 * hub.h - models from elsewhere: what a source is called, which files it has, and their transfer.
 *
 * A source is one of
 *     NAME                              a short name of the catalogue, such as smollm2
 *     hf:USER/REPO[@REVISION][:CHOICE]  Hugging Face; CHOICE is a quantisation such as Q4_K_M or a
 *                                       file of the repository; also hf.co/... and
 *                                       huggingface.co/...
 *     ollama:[USER/]NAME[:TAG]          the registry of Ollama
 *     oci:HOST/REPO[:TAG|@DIGEST]       any OCI registry
 *     https://... or http://...         one file
 *
 * Everything is done by the calling thread, and its cancel word (core/base/cancel.h) ends it within
 * a second.  Nothing is kept between calls. */
#ifndef LLAMAD_HUB_HUB_H
#define LLAMAD_HUB_HUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/sha256.h"
#include "llamad/status.h"

#define LMI_HUB_SOURCE_MAX 1024 /* bytes of a source */
#define LMI_HUB_FILES_MAX  1024 /* files of a model */

struct lmi_hub_opts {
	const char *hf_url;     /* NULL: https://huggingface.co; a mirror or a stand-in */
	const char *ollama_url; /* NULL: https://registry.ollama.ai */
	const char *hf_token;   /* sent to hf_url alone; NULL: none */
	const char *ca_file;    /* PEM file of certificates to trust; NULL: the system's */
	const char *catalogue;  /* file of short names; NULL: none */
	/* users and passwords of registries, as docker and podman keep them; NULL: none */
	const char *auth_file;
	const char *upload_dir; /* where uploads that were begun are remembered; NULL: nowhere */
	uint64_t rate;          /* bytes per second of one transfer; 0: no limit */
	bool offline;           /* HF_HUB_OFFLINE: every call that needs the network fails */
};

struct lmi_hub_file {
	const char *name; /* last component of its path, without directories; never "." or ".." */
	const char *url;
	uint64_t size;               /* in bytes; 0: unknown */
	char sha256[LMI_SHA256_HEX]; /* lower-case hex digits; "": unknown */
	bool with_token;             /* the transfer sends hf_token */
};

/* A model that a source names. */
struct lmi_hub_model {
	const char *source; /* with everything that was left out: revision, tag, file */
	uint32_t n_files;
	const struct lmi_hub_file *files; /* [n_files]: the parts, in their order */
	/* The signed manifest beside the first file, NAME.sig (docs/signatures.md); NULL: the source
	 * has none, or cannot tell. */
	const struct lmi_hub_file *manifest;
	/* The vision tower of the model, a GGUF file whose name begins with "mmproj"; NULL: the source has none,
	 * or cannot tell. */
	const struct lmi_hub_file *tower;
	uint64_t size;                    /* bytes of all files and the tower; 0: unknown */
	bool is_folder;                   /* a checkpoint with safetensors: the files need their
					   * names and a folder of their own */
	struct lmd_arena *arena;          /* holds it all */
};

/* Returns true if the text has the form of a source other than a short name: a path of a file or a
 * name of a registered model never has. */
bool lmi_hub_is_source(const char *text);

/* Proposes the name of a model, from the source alone: the short name without ":latest";
 * USER/REPO-GGUF:Q4_0 becomes REPO:Q4_0, a file its name.  The name has 1..128 bytes of
 * [A-Za-z0-9._:/-].  LMD_INVALID: not a source. */
#define LMI_HUB_NAME_MAX 128
LMD_NODISCARD enum lmd_status lmi_hub_default_name(char out[LMI_HUB_NAME_MAX + 1],
						   const char *source, struct lmd_error *err);

/* Writes the same for a file or folder on the disk: /models/Tiny-Q4_0.gguf and
 * Tiny-Q4_0-00001-of-00002.gguf become Tiny-Q4_0; any other name is kept whole. */
void lmi_hub_file_default_name(char out[LMI_HUB_NAME_MAX + 1], const char *path);

/* Finds the files of a source.  LMD_INVALID: not a source, or a choice that does not exist, with
 * those that do; LMD_NOTFOUND, LMD_DENIED (a token is needed), LMD_UNSUPPORTED (neither GGUF
 * files nor safetensors), LMD_IO (network), LMD_CANCELLED. */
LMD_NODISCARD enum lmd_status lmi_hub_resolve(struct lmi_hub_model **out, const char *source,
					      const struct lmi_hub_opts *o, struct lmd_error *err);
void lmi_hub_model_free(struct lmi_hub_model *m); /* NULL allowed */

struct lmi_hub_transfer {
	/* Called for each piece that arrived: the bytes of the file so far.  With `checking`, the
	 * bytes whose digest has been computed.  May be NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t total, bool checking);
	void *arg;
};

/* Downloads a file to `path`, which gets its name only when it is complete and has the expected
 * size and digest.  An interrupted transfer leaves PATH.partial and PATH.partial.journal, and the
 * next call continues it if the file is still the same.  Lost connections are tried again, each
 * time later, until five times in a row nothing arrived.
 *
 * sha256: the digest of the file.  LMD_CORRUPT: size or digest differ from those announced; the
 * partial file is removed.  LMD_BUSY: another process is writing it.  LMD_NOMEM: the disk is too
 * small for what is missing.  Otherwise as lmi_hub_resolve. */
LMD_NODISCARD enum lmd_status lmi_hub_fetch(const struct lmi_hub_file *f, const char *path,
					    const struct lmi_hub_opts *o,
					    const struct lmi_hub_transfer *t,
					    char sha256[LMI_SHA256_HEX], struct lmd_error *err);

/* ---- to a registry ---- */

#define LMI_HUB_PARTS_MAX 1024 /* parts of a model that is pushed */

enum lmi_hub_part_kind {
	LMI_HUB_PART_MODEL,    /* a GGUF file */
	LMI_HUB_PART_TOWER,    /* the GGUF file of the vision tower */
	LMI_HUB_PART_LICENSE,  /* text */
	LMI_HUB_PART_TEMPLATE, /* text; Ollama's registry alone, as the next three */
	LMI_HUB_PART_SYSTEM,   /* text */
	LMI_HUB_PART_PARAMS,   /* JSON object of names and values */
	LMI_HUB_PART_MESSAGES, /* JSON array of objects with role and content */
	LMI_HUB_PART_MODELFILE, /* text; OCI registries alone */
	LMI_HUB_PART_SIGNATURE /* the signed manifest of the model; OCI registries alone */
};

/* A part of a model: a file, or a text in memory. */
struct lmi_hub_part {
	enum lmi_hub_part_kind kind;
	const char *name; /* of the file on the disk of those who pull it; NULL: none */
	const char *path; /* NULL: the text */
	const char *text;
};

struct lmi_hub_push {
	const char *dest; /* ollama:[USER/]NAME[:TAG] or oci:HOST/REPO[:TAG] */
	const struct lmi_hub_part *parts;
	uint32_t n_parts;        /* 1..LMI_HUB_PARTS_MAX */
	const char *arch, *quant; /* for the description: "llama", "Q4_K_M"; "": unknown */
	/* Called as lmi_hub_transfer's progress, for all parts together. */
	struct lmi_hub_transfer transfer;
};

/* What a push did. */
struct lmi_hub_pushed {
	char digest[LMI_SHA256_HEX];     /* of the manifest */
	uint64_t bytes_sent, bytes_kept; /* of the parts: sent, and there already */
};

/* Uploads a model to a registry: each part that the registry does not have, in pieces, and at last
 * the manifest, which gives the model its name there.  Lost connections are tried again, each time
 * later, until five times in a row nothing arrived; a call after a failure continues the upload if
 * the registry still has it (opts.upload_dir).
 *
 * LMD_INVALID: the destination; LMD_DENIED: the registry wants another user; LMD_UNSUPPORTED: the
 * registry takes no uploads, or Ollama's cannot have a model in parts; LMD_CORRUPT: a file changed
 * meanwhile; LMD_IO: the network, or a registry that fails, with its own words; LMD_CANCELLED. */
LMD_NODISCARD enum lmd_status lmi_hub_push(struct lmi_hub_pushed *out, const struct lmi_hub_push *p,
					   const struct lmi_hub_opts *o, struct lmd_error *err);

/* Sends n bytes by POST, once; fails unless the code of the reply is 200 to 299. */
LMD_NODISCARD enum lmd_status lmi_hub_post(const char *url, const char *type, const void *bytes, size_t n,
					   const struct lmi_hub_opts *o, struct lmd_error *err);

/* Finds the catalogue that belongs to this program: beside its installation, in the source tree
 * above its build folder, or in the data folder.  Returns false if there is none. */
bool lmi_hub_default_catalogue(char *path, size_t n);

/* The functions above in a table, for a program that decides at run time whether it uses them: what
 * is linked with the table alone does not need libcurl. */
struct lmi_hub_calls {
	enum lmd_status (*default_name)(char out[LMI_HUB_NAME_MAX + 1], const char *source,
					struct lmd_error *err);
	enum lmd_status (*resolve)(struct lmi_hub_model **out, const char *source,
				   const struct lmi_hub_opts *o, struct lmd_error *err);
	void (*model_free)(struct lmi_hub_model *m);
	enum lmd_status (*fetch)(const struct lmi_hub_file *f, const char *path,
				 const struct lmi_hub_opts *o, const struct lmi_hub_transfer *t,
				 char sha256[LMI_SHA256_HEX], struct lmd_error *err);
};
extern const struct lmi_hub_calls lmi_hub_calls;

#endif /* LLAMAD_HUB_HUB_H */
