/* SPDX-License-Identifier: MIT
 *
 * source_digest.h - adds to a digest what the tensor data made from a model depends on.  The digest
 * decides whether a run may resume an earlier one (core/base/resumable_file.h). */
#ifndef LLAMAD_CORE_FORMAT_SOURCE_DIGEST_H
#define LLAMAD_CORE_FORMAT_SOURCE_DIGEST_H

#include "core/base/sha256.h"
#include "core/format/format.h"

/* Adds device, inode, size and modification time of the model's files.  LMD_IO if one no longer
 * exists. */
enum lmd_status lmi_model_source_digest_files(struct lmi_sha256 *h, const struct lmi_model *m,
					      struct lmd_error *err);

/* Adds what the encoder of a type makes of synthetic values, with and without importances. */
void lmi_model_source_digest_encoder(struct lmi_sha256 *h, enum lmd_dtype type);

/* Adds a number, independent of the machine's byte order. */
void lmi_model_source_digest_u64(struct lmi_sha256 *h, uint64_t v);

#endif /* LLAMAD_CORE_FORMAT_SOURCE_DIGEST_H */
