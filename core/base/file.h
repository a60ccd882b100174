/* SPDX-License-Identifier: MIT
 *
 * file.h - regular files: opened once, read at offsets, mapped, replaced as a whole. */
#ifndef LLAMAD_CORE_BASE_FILE_H
#define LLAMAD_CORE_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* ---- for core/base alone ---- */

/* "path: what: text of errno"; LMD_NOTFOUND, LMD_NOMEM or LMD_IO. */
enum lmd_status lmi_fail_errno(struct lmd_error *err, const char *path, const char *what);
/* What a file is that is no regular one: "a directory". */
const char *lmi_file_kind(mode_t mode);
/* pread(2) that tests can make fail. */
ssize_t lmi_file_pread(int fd, void *buf, size_t n, uint64_t at);

/* Tests: the call number `nth` from now (1 = the next) that reads or maps a file fails.  0
 * switches it off.  Process-wide. */
enum lmi_file_fault {
	LMI_FAULT_EIO,	 /* the device fails */
	LMI_FAULT_SHORT, /* fewer bytes than asked for: no failure */
	LMI_FAULT_EINTR, /* a signal: no failure */
	LMI_FAULT_END	 /* somebody shortened the file */
};
void lmi_file_fail_nth(uint64_t nth, enum lmi_file_fault how);
/* True if a failure was injected since the last lmi_file_fail_nth. */
bool lmi_file_did_fail(void);
/* Is it the turn of this call?  For core/base alone. */
bool lmi_file_must_fail(enum lmi_file_fault *how);

/* A zeroed struct that was never opened may be closed when its fd is set to -1. */
void lmi_file_close(struct lmi_file *f);

/* Bytes of a file in memory, read-only: a shared mapping, or a copy on the heap. */
struct lmi_map {
	const uint8_t *ptr;
	uint64_t bytes;
	bool on_heap;
	void *block; /* of the heap, ptr lies in it */
};

/* Maps the first `bytes` bytes (> 0).  When somebody shortens the file later, reading
 * beyond its new end raises SIGBUS in the reading thread: the engine, which reads weights,
 * has the handler. */
enum lmd_status lmi_map_open(struct lmi_map *m, const struct lmi_file *f, uint64_t bytes,
			     struct lmd_error *err);

/* `bytes` (> 0) zeros that take no memory, however many they are. */
enum lmd_status lmi_map_zeros(struct lmi_map *m, uint64_t bytes, struct lmd_error *err);

/* Who waits for a long piece of work: told after each step, false gives up. */
typedef bool (*lmi_map_fn)(void *arg, uint64_t done);

/* Reads bytes [at, at + bytes) into memory instead, in huge pages where the system gives them.
 * direct: past the page cache, where the file system can; the bytes are the same.
 * fn: told after each 8 MiB at most (NULL: nobody); false makes it LMD_CANCELLED. */
enum lmd_status lmi_map_load(struct lmi_map *m, const struct lmi_file *f, uint64_t at,
			     uint64_t bytes, bool direct, lmi_map_fn fn, void *arg,
			     struct lmd_error *err);
/* The same at once, with nobody told. */
enum lmd_status lmi_map_read(struct lmi_map *m, const struct lmi_file *f, uint64_t at,
			     uint64_t bytes, struct lmd_error *err);

/* Brings it into memory and keeps it there, in steps of 64 MiB; false when the system refuses
 * or fn gave up, and then nothing is kept. */
bool lmi_map_lock(const struct lmi_map *m, lmi_map_fn fn, void *arg);

/* A zeroed struct is allowed. */
void lmi_map_close(struct lmi_map *m);

/* Fails unless the folder is there in which `path` would be created; the error names the folder. */
enum lmd_status lmi_file_check_folder(const char *path, struct lmd_error *err);

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
/* For core/base alone: commit that leaves the file open, and on failure under its temporary
 * name. */
enum lmd_status lmi_new_file_publish(struct lmi_new_file *f, struct lmd_error *err);

/* A whole file of at most max bytes, with a zero behind; to be given to lmi_free().  Failures name
 * the path. */
enum lmd_status lmi_file_read_all(const char *path, uint64_t max, char **out, size_t *n,
				  struct lmd_error *err);

#endif /* LLAMAD_CORE_BASE_FILE_H */
