/* SPDX-License-Identifier: MIT
 *
 * digest.h - digest of everything that the tensor data of a plan depends on.  It decides whether a
 * run may resume an earlier one. */
#ifndef LLAMAD_CORE_QUANTIZE_DIGEST_H
#define LLAMAD_CORE_QUANTIZE_DIGEST_H

#include "core/base/sha256.h"
#include "core/quantize/quantize.h"

/* SHA-256 of: device, inode, size and modification time of the source's files; name and type of the
 * source of each tensor in the plan, and its importances; what the encoders of the plan's types
 * make of synthetic values.  Not included are shapes, types, names and keys of the new file, which
 * its header covers.  LMD_IO if a file of the source no longer exists. */
enum lmd_status lmi_quantize_digest(const struct lmi_quantize_plan *p,
				    uint8_t out[LMI_SHA256_BYTES], struct lmd_error *err);

#endif /* LLAMAD_CORE_QUANTIZE_DIGEST_H */
