/* SPDX-License-Identifier: MIT
 *
 * import.h - copies a file into a store's folder, named by its content.  Any thread. */
#ifndef LLAMAD_STORE_IMPORT_H
#define LLAMAD_STORE_IMPORT_H

#include "store/digest.h"

/* Copies `path` to DIR/models/sha256-HEX: a temporary file beside it, fsync, read back and
 * compared, renamed, folder fsynced.  A file of that content that is there already is read and
 * reused; one of that name whose content has rotted is replaced.  The row is added afterwards, by
 * lmi_store_model_add with `imported`.
 *
 * dir:  the state folder of an open store
 * path: as for lmi_store_digest_file
 * out:  digest and identity of the copy; path is NULL, the store knows it
 * work: progress counts the copy and the reading back: total is twice the size
 *
 * A failure leaves nothing behind.  Statuses as for lmi_store_digest_file; LMD_CORRUPT: what was
 * read back is not what was written. */
LMD_NODISCARD enum lmd_status lmi_store_import(struct lmi_store_file *out, const char *dir,
					       const char *path, const struct lmi_store_work *work,
					       struct lmd_error *err);

#endif /* LLAMAD_STORE_IMPORT_H */
