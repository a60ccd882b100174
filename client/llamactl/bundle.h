/* SPDX-License-Identifier: MIT
 *
 * bundle.h - bundles: models in one file for machines without network.
 *
 * A bundle is a tar archive (POSIX ustar; pax records for files of 8 GiB and more) that can be read in
 * one pass and is the same whenever it is made of the same models:
 *     llamad-bundle.json   the index, first
 *     sha256-HEX           each file of the models once, in the order in which the index names them
 * The index:
 *     {"format": "llamad bundle 1", "models": [
 *         {"name": "tiny", "files": [{"sha256": "HEX", "size": 123}, ...]},
 *         {"name": "short", "modelfile": "FROM tiny\n...", "files": [...]},
 *         {"name": "seen", "files": [...], "tower": {"sha256": "HEX", "size": 123}}]}
 * With a Modelfile, the files are those of the model that FROM names.  The tower is the vision tower. */
#ifndef LLAMAD_LLAMACTL_BUNDLE_H
#define LLAMAD_LLAMACTL_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/sha256.h"
#include "llamad/status.h"

#define LMI_CTL_BUNDLE_INDEX      "llamad-bundle.json"
#define LMI_CTL_BUNDLE_INDEX_MAX  (16u << 20) /* bytes of the index */
#define LMI_CTL_BUNDLE_MODELS_MAX 256u
#define LMI_CTL_BUNDLE_FILES_MAX  1000u /* files of one model */
#define LMI_CTL_BUNDLE_SIZE_MAX   (UINT64_C(1) << 50) /* bytes of all files */

struct lmd_arena;

/* ---- the index ---- */

struct lmi_ctl_bundle_file {
	char sha256[LMI_SHA256_HEX];
	uint64_t size;
};

struct lmi_ctl_bundle_model {
	const char *name;
	const char *base;      /* the name that has the files: `name`, or that of FROM */
	const char *modelfile; /* NULL: none */
	uint32_t n_files;      /* 1..LMI_CTL_BUNDLE_FILES_MAX */
	struct lmi_ctl_bundle_file *files;
	struct lmi_ctl_bundle_file tower; /* its size is 0: none */
};

struct lmi_ctl_bundle {
	uint32_t n_models; /* 1..LMI_CTL_BUNDLE_MODELS_MAX */
	struct lmi_ctl_bundle_model *models;
	uint32_t n_files; /* different files, in the order of the archive */
	struct lmi_ctl_bundle_file *files;
	uint64_t size; /* bytes of all different files */
	struct lmd_arena *arena;
};

/* Parses and checks the index: names, digests, sizes and Modelfiles.  LMD_CORRUPT: the message says
 * what is wrong. */
LMD_NODISCARD enum lmd_status lmi_ctl_bundle_parse(struct lmi_ctl_bundle *out, const char *text,
						   size_t n, struct lmd_error *err);
/* Returns the index as text, on the heap (free); NULL: no memory. */
char *lmi_ctl_bundle_emit(const struct lmi_ctl_bundle *b);
/* Fills n_files, files and size from the models; LMD_CORRUPT: a digest has two sizes, or the sum is
 * above LMI_CTL_BUNDLE_SIZE_MAX. */
LMD_NODISCARD enum lmd_status lmi_ctl_bundle_list_files(struct lmi_ctl_bundle *b,
							struct lmd_error *err);
/* A zeroed struct is allowed. */
void lmi_ctl_bundle_fini(struct lmi_ctl_bundle *b);

/* ---- the archive ---- */

#define LMI_CTL_BUNDLE_NAME_MAX 99 /* bytes of a member's name */

/* Reads the head of the next member; *end: the archive ends here.  LMD_CORRUPT: not an archive as
 * described above: other kinds of members, names with a slash, wrong checksums. */
LMD_NODISCARD enum lmd_status lmi_ctl_bundle_next(FILE *f, char name[LMI_CTL_BUNDLE_NAME_MAX + 1],
						  uint64_t *size, bool *end, struct lmd_error *err);
/* Reads the zeros after a member of that size. */
LMD_NODISCARD enum lmd_status lmi_ctl_bundle_skip_padding(FILE *f, uint64_t size, struct lmd_error *err);
/* Reads the index, the first member. */
LMD_NODISCARD enum lmd_status lmi_ctl_bundle_read_index(struct lmi_ctl_bundle *out, FILE *f,
							struct lmd_error *err);

/* Write the head of a member, and the zeros after it.  Errors stay in the stream (ferror). */
void lmi_ctl_bundle_put_head(FILE *f, const char *name, uint64_t size);
void lmi_ctl_bundle_put_padding(FILE *f, uint64_t size);

struct lmi_ctl;

/* llamactl add FILE.tar: checks the bundle (file "-": standard input), then registers its models. */
LMD_NODISCARD enum lmd_status lmi_ctl_bundle_import(struct lmi_ctl *ctl, const char *file,
						    struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_BUNDLE_H */
