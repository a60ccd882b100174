/* SPDX-License-Identifier: MIT
 *
 * file.h - regular files: opened once, read at offsets, mapped, replaced as a whole. */
#ifndef LLAMAD_CORE_BASE_FILE_H
#define LLAMAD_CORE_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

/* A regular file open for reading.  bytes is its size when it was opened. */
struct lmi_file {
	int fd;
	uint64_t bytes;
};

/* Follows symlinks; a directory, device, FIFO or socket is LMD_INVALID and opening one
 * never blocks.  A missing file is LMD_NOTFOUND, other refusals of the system LMD_IO.
 * The sentences name the path. */
enum lmd_status lmi_file_open(struct lmi_file *f, const char *path, struct lmd_error *err);

/* Exactly n bytes from offset `at`; LMD_IO when the file ends before.  Any thread. */
enum lmd_status lmi_file_read(const struct lmi_file *f, uint64_t at, void *buf, size_t n,
			      struct lmd_error *err);

/* A zeroed struct that was never opened may be closed when its fd is set to -1. */
void lmi_file_close(struct lmi_file *f);

/* Bytes of a file in memory, read-only: a shared mapping, or a copy on the heap. */
struct lmi_map {
	const uint8_t *ptr;
	uint64_t bytes;
	bool on_heap;
};

/* Maps the first `bytes` bytes (> 0).  When somebody shortens the file later, reading
 * beyond its new end raises SIGBUS in the reading thread: the engine, which reads weights,
 * has the handler. */
enum lmd_status lmi_map_open(struct lmi_map *m, const struct lmi_file *f, uint64_t bytes,
			     struct lmd_error *err);

/* Reads bytes [at, at + bytes) into memory instead. */
enum lmd_status lmi_map_read(struct lmi_map *m, const struct lmi_file *f, uint64_t at,
			     uint64_t bytes, struct lmd_error *err);

/* Keeps it resident; false when the system refuses. */
bool lmi_map_lock(const struct lmi_map *m);

/* A zeroed struct is allowed. */
void lmi_map_close(struct lmi_map *m);

/* A new file that takes the place of `path` only when it is complete: written under a
 * temporary name in the same folder, fsynced, renamed, folder fsynced. */
struct lmi_new_file {
	int fd;
	uint64_t bytes; /* up to the end of what is written */
	char *path, *temp;
};

/* mode as for open(2).  A path that is something else than a regular file is LMD_INVALID. */
enum lmd_status lmi_new_file_open(struct lmi_new_file *f, const char *path, unsigned mode,
				  struct lmd_error *err);
enum lmd_status lmi_new_file_write(struct lmi_new_file *f, const void *data, size_t n,
				   struct lmd_error *err);
/* Writes n bytes from offset `at`, wherever the writes before ended; holes read as zeros. */
enum lmd_status lmi_new_file_write_at(struct lmi_new_file *f, uint64_t at, const void *data,
				      size_t n, struct lmd_error *err);
/* Success or not, the struct is empty afterwards; on failure the old file is untouched. */
enum lmd_status lmi_new_file_commit(struct lmi_new_file *f, struct lmd_error *err);
/* Gives up: removes the temporary file.  Nothing after commit, or for a struct whose open
 * failed. */
void lmi_new_file_abort(struct lmi_new_file *f);

/* A whole file of at most max bytes, with a zero behind; to be given to lmi_free().  Failures name
 * the path. */
enum lmd_status lmi_file_read_all(const char *path, uint64_t max, char **out, size_t *n,
				  struct lmd_error *err);

#endif /* LLAMAD_CORE_BASE_FILE_H */
