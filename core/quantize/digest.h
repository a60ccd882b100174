/* SPDX-License-Identifier: MIT
 *
 * digest.h - what the tensor data of a plan depends on, as a digest: may a run go on with the
 * tensors of an earlier one? */
#ifndef LLAMAD_CORE_QUANTIZE_DIGEST_H
#define LLAMAD_CORE_QUANTIZE_DIGEST_H

#include "core/base/sha256.h"
#include "core/quantize/quantize.h"

/* SHA-256 of: device, inode, size and time of change of the source's files; name and type of the
 * tensor behind each of the plan's, and its importances; what the encoders of the plan's types make
 * of made-up values.  Shapes, types, names and keys of the new file are its header's, and not in
 * here.  LMD_IO: a file of the source is gone. */
enum lmd_status lmi_quantize_digest(const struct lmi_quantize_plan *p,
				    uint8_t out[LMI_SHA256_BYTES], struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_DIGEST_H */
