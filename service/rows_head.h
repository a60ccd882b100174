/* SPDX-License-Identifier: MIT
 *
 * rows_head.h - what the rows of a loaded model depend on: files of sessions and of the disk tier of the
 * prefix cache are read only if it is the same. */
#ifndef LLAMAD_SERVICE_ROWS_HEAD_H
#define LLAMAD_SERVICE_ROWS_HEAD_H

#include "core/engine/saved_file.h"
#include "service/loaded_model.h"

/* Names the files of a model and their contents. Looks at the files of a model without a digest; any thread. */
enum lmd_status lmi_svc_model_digest(uint8_t out[LMI_SHA256_BYTES], const struct lmi_store_model *m,
				     struct lmd_error *err);
/* Fills in what the caller of saved_file.h has to. adapter: slot of the engine, which is held;
 * 0: none.  LMD_UNSUPPORTED: the model has no prefix cache, or the file of an adapter has changed since it
 * was loaded. Looks at the files of adapters, and at those of a model without a digest; any thread. */
enum lmd_status lmi_svc_rows_head(struct lmi_engine_saved_head *out,
				  const struct lmi_svc_loaded_model *loaded, int32_t adapter,
				  struct lmd_error *err);

#endif /* LLAMAD_SERVICE_ROWS_HEAD_H */
