/* SPDX-License-Identifier: MIT
 *
 * blob.h - files in a store's folder and files by descriptor; shared by digest.c, import.c and
 * models.c. */
#ifndef LLAMAD_STORE_BLOB_H
#define LLAMAD_STORE_BLOB_H

#include "store/digest.h"

/* Opens a regular file for reading; its last path component must not be a link.  Sets size, dev,
 * ino and times of *id.  at_fd: folder for relative paths. */
LMD_NODISCARD enum lmd_status lmi_store_file_open(int *fd, int at_fd, const char *path,
						  struct lmi_store_file *id, struct lmd_error *err);
/* Sets size, dev, ino and times of *id from an open file. */
LMD_NODISCARD enum lmd_status lmi_store_file_identity(struct lmi_store_file *id, int fd,
						      struct lmd_error *err);
/* Waits until a later change of the file would change its times.  A file gets the time of the
 * system's last clock tick, so without waiting (some milliseconds) a second change within the same
 * tick would go unnoticed.  On file systems with coarser times it still can. */
void lmi_store_file_wait_tick(const struct lmi_store_file *id);
bool lmi_store_same_identity(const struct lmi_store_file *a, const struct lmi_store_file *b);

/* Reads the next piece of a file, at most n bytes; *got is 0 at its end.  Checks work->cancel. */
LMD_NODISCARD enum lmd_status lmi_store_piece(int fd, uint64_t at, void *buf, size_t n, size_t *got,
					      const struct lmi_store_work *work,
					      struct lmd_error *err);

/* Computes the digest of a file, which must have `size` bytes (otherwise LMD_BUSY).  Reports
 * progress from `before` to before + size, out of total. */
LMD_NODISCARD enum lmd_status lmi_store_digest_fd(char out[LMI_STORE_DIGEST_HEX], int fd,
						  uint64_t size, uint64_t before, uint64_t total,
						  const struct lmi_store_work *work,
						  struct lmd_error *err);

#define LMI_STORE_BLOB_FOLDER "models"
#define LMI_STORE_BLOB_NAME   (7 + LMI_STORE_DIGEST_HEX) /* "sha256-", digits, zero */
void lmi_store_blob_name(char out[LMI_STORE_BLOB_NAME], const char *digest);

/* Opens models/ in the state folder, and creates it if missing. */
LMD_NODISCARD enum lmd_status lmi_store_blob_folder(int *fd, int dir_fd, struct lmd_error *err);

/* Removes unfinished imports of a crashed process; returns their number. */
uint32_t lmi_store_blob_sweep(int dir_fd);

/* The ending of the signed manifest of a file. */
#define LMI_STORE_BLOB_MANIFEST ".sig"

/* Removes models/sha256-HEX, its manifest and its vision tower.  A failure is ignored and leaves the file. */
void lmi_store_blob_remove(int dir_fd, const char *digest);

#endif /* LLAMAD_STORE_BLOB_H */
