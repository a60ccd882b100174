/* SPDX-License-Identifier: MIT
 *
 * blob.h - files of a store's folder and files by descriptor: shared by digest.c, import.c and
 * models.c. */
#ifndef LLAMAD_STORE_BLOB_H
#define LLAMAD_STORE_BLOB_H

#include "store/digest.h"

/* Opens a regular file for reading, never through a link as its last component; fills size, dev,
 * ino and times of *id.  at_fd: for relative paths. */
LMD_NODISCARD enum lmd_status lmi_store_file_open(int *fd, int at_fd, const char *path,
						  struct lmi_store_file *id, struct lmd_error *err);
/* Those of an open file. */
LMD_NODISCARD enum lmd_status lmi_store_file_identity(struct lmi_store_file *id, int fd,
						      struct lmd_error *err);
/* Files get the time of the system's last tick, so one that was changed just now could change again
 * under its reader without another time.  Waits for the next tick, some milliseconds; where a file
 * system has coarser times, changes within one of them stay unseen. */
void lmi_store_file_settle(const struct lmi_store_file *id);
bool lmi_store_same_identity(const struct lmi_store_file *a, const struct lmi_store_file *b);

/* The next piece of a file, at most n bytes; *got 0 at its end.  Looks at work->cancel. */
LMD_NODISCARD enum lmd_status lmi_store_piece(int fd, uint64_t at, void *buf, size_t n, size_t *got,
					      const struct lmi_store_work *work,
					      struct lmd_error *err);

/* The digest of a file that must have `size` bytes (else LMD_BUSY).  Progress goes from `before`
 * to before + size out of total. */
LMD_NODISCARD enum lmd_status lmi_store_digest_fd(char out[LMI_STORE_DIGEST_HEX], int fd,
						  uint64_t size, uint64_t before, uint64_t total,
						  const struct lmi_store_work *work,
						  struct lmd_error *err);

#define LMI_BLOB_FOLDER "models"
#define LMI_BLOB_NAME   (7 + LMI_STORE_DIGEST_HEX) /* "sha256-", digits, zero */
void lmi_blob_name(char out[LMI_BLOB_NAME], const char *digest);

/* Opens (and makes) models/ in the state folder. */
LMD_NODISCARD enum lmd_status lmi_blob_folder(int *fd, int dir_fd, struct lmd_error *err);

/* Removes what imports of a crashed process left; the number of them. */
uint32_t lmi_blob_sweep(int dir_fd);

/* Removes models/sha256-HEX; a failure leaves an orphan and is no error. */
void lmi_blob_remove(int dir_fd, const char *digest);

#endif /* LLAMAD_STORE_BLOB_H */
