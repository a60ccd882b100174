/* SPDX-License-Identifier: MIT
 *
 * identity.h - what tensor data that is made from a model depends on, for a digest: may a run go on
 * with the tensors of an earlier one (core/base/partial.h)? */
#ifndef LLAMAD_CORE_FORMAT_IDENTITY_H
#define LLAMAD_CORE_FORMAT_IDENTITY_H

#include "core/base/sha256.h"
#include "core/format/format.h"

/* Device, inode, size and time of change of the model's files.  LMD_IO: one is gone. */
enum lmd_status lmi_identity_files(struct lmi_sha256 *h, const struct lmi_model *m,
				   struct lmd_error *err);

/* What the encoder of a type makes of made-up values, with importances and without. */
void lmi_identity_encoder(struct lmi_sha256 *h, enum lmd_dtype type);

/* A number, whatever the byte order of the machine. */
void lmi_identity_u64(struct lmi_sha256 *h, uint64_t v);

#endif /* LLAMAD_CORE_FORMAT_IDENTITY_H */
