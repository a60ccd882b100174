/* SPDX-License-Identifier: MIT
 *
 * import.h - files of a store's folder that are named by their content: copies of others, and
 * files that were downloaded into it.  Any thread. */
#ifndef LLAMAD_STORE_IMPORT_H
#define LLAMAD_STORE_IMPORT_H

#include "store/digest.h"

/* Copies `path` to DIR/models/sha256-HEX: writes a temporary file in the same folder, syncs it,
 * reads it back to compare, renames it and syncs the folder.  If a file with that name exists, it
 * is read and reused, or replaced if its content is damaged.  Add the row afterwards with
 * lmi_store_model_add and `imported`.
 *
 * dir:  the state folder of an open store path: as for lmi_store_digest_file out:  digest and
 * identity of the copy; path is NULL, since the store determines it work: progress counts copying
 * and reading back, so total is twice the size
 *
 * A failure leaves no file behind.  Statuses as for lmi_store_digest_file; LMD_CORRUPT: the data
 * read back differs from the data written. */
LMD_NODISCARD enum lmd_status lmi_store_import(struct lmi_store_file *out, const char *dir,
					       const char *path, const struct lmi_store_work *work,
					       struct lmd_error *err);

/* Renames `path`, a file below `dir` that was just written and synced and has this digest, to
 * DIR/models/sha256-HEX.  If a file with that name exists and its content has the digest, `path` is
 * removed instead.  A failure leaves `path` as it was.  Otherwise as lmi_store_import. */
LMD_NODISCARD enum lmd_status lmi_store_adopt(struct lmi_store_file *out, const char *dir,
					      const char *path, const char *digest,
					      const struct lmi_store_work *work,
					      struct lmd_error *err);

/* Copies the vision tower `path` of the model whose first file has this digest to DIR/models/sha256-HEX.mmproj
 * (core/base/tower_file.h), and replaces another one of that model.  Otherwise as lmi_store_import. */
LMD_NODISCARD enum lmd_status lmi_store_import_tower(const char *dir, const char *digest, const char *path,
						     const struct lmi_store_work *work,
						     struct lmd_error *err);

#endif /* LLAMAD_STORE_IMPORT_H */
