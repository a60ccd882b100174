/* SPDX-License-Identifier: MIT
 *
 * file.h - regular files: open once, read at offsets, map, replace atomically. */
#ifndef LLAMAD_CORE_BASE_FILE_H
#define LLAMAD_CORE_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "llamad/status.h"

/* A regular file open for reading; bytes is its size when it was opened. */
struct lmi_file {
	int fd;
	uint64_t bytes;
};

/* Follows symlinks. A directory, device, FIFO or socket is LMD_INVALID, and opening one never
 * blocks. A missing file is LMD_NOTFOUND, other failures of the system are LMD_IO. Error messages
 * name the path. */
enum lmd_status lmi_file_open(struct lmi_file *f, const char *path, struct lmd_error *err);

/* A check of the files that a thread opens. */
struct lmi_file_guard {
	/* Called by lmi_file_open before it returns a regular file, with what fstat says of it; any
	 * status but LMD_OK is what lmi_file_open returns instead. */
	enum lmd_status (*opened)(struct lmi_file_guard *g, const char *path,
				  const struct stat *sb, struct lmd_error *err);
};

/* Attaches a guard to the calling thread and returns the previous one; NULL: none.  Work that opens
 * model files in many places can so be restricted to files that were checked before. */
struct lmi_file_guard *lmi_file_guard_attach(struct lmi_file_guard *g);

/* Reads exactly n bytes from offset `at`; LMD_IO if the file ends first. Any thread. */
enum lmd_status lmi_file_read(const struct lmi_file *f, uint64_t at, void *buf, size_t n,
			      struct lmd_error *err);

/* Writes all n bytes; returns false with errno if the system takes fewer. */
bool lmi_file_write_all(int fd, const void *bytes, size_t n);

/* Returns the last component of a path: what follows the last slash. */
const char *lmi_file_base_name(const char *path);

/* ---- for core/base alone ---- */

/* Sets the error message "path: what: text of errno"; returns LMD_NOTFOUND, LMD_NOMEM or LMD_IO. */
enum lmd_status lmi_error_errno(struct lmd_error *err, const char *path, const char *what);
/* Names the kind of a file that is not regular, for example "a directory". */
const char *lmi_file_kind(mode_t mode);
/* Wraps pread(2) so that tests can make it fail. */
ssize_t lmi_file_pread(int fd, void *buf, size_t n, uint64_t at);

/* For tests: the nth call from now (1 = the next) that reads or maps a file fails. 0 disables it.
 * Process-wide. */
enum lmi_file_fault {
	LMI_FILE_FAULT_EIO,   /* an I/O error of the device */
	LMI_FILE_FAULT_SHORT, /* fewer bytes than requested; not an error */
	LMI_FILE_FAULT_EINTR, /* interrupted by a signal; not an error */
	LMI_FILE_FAULT_END    /* the file has been truncated */
};
void lmi_file_fail_nth(uint64_t nth, enum lmi_file_fault fault);
/* Returns true if a failure has been injected since the last lmi_file_fail_nth. */
bool lmi_file_did_fail(void);
/* Returns true if this call has to fail, and sets *fault. For core/base alone. */
bool lmi_file_must_fail(enum lmi_file_fault *fault);

/* A zeroed struct that was never opened may be closed if its fd is set to -1. */
void lmi_file_close(struct lmi_file *f);

/* Read-only bytes of a file in memory: a shared mapping or a copy on the heap. */
struct lmi_map {
	const uint8_t *ptr;
	uint64_t bytes;
	bool on_heap;
	void *block; /* heap block that contains ptr */
};

/* Maps the first `bytes` bytes (> 0). If the file is truncated later, reading beyond its new end
 * raises SIGBUS in the reading thread; the engine, which reads weights, installs the handler. */
enum lmd_status lmi_map_open(struct lmi_map *m, const struct lmi_file *f, uint64_t bytes,
			     struct lmd_error *err);

/* Maps `bytes` (> 0) zeros; they use no memory, however many there are. */
enum lmd_status lmi_map_zeros(struct lmi_map *m, uint64_t bytes, struct lmd_error *err);

/* Progress callback of a long operation, called after each step; returning false cancels it. */
typedef bool (*lmi_map_fn)(void *arg, uint64_t done);

/* Reads bytes [at, at + bytes) into memory instead of mapping them, in huge pages where the system
 * provides them.
 * direct: bypass the page cache where the file system supports it; the bytes are the same.
 * fn: called at least once per 8 MiB (may be NULL); returning false gives LMD_CANCELLED. */
enum lmd_status lmi_map_load(struct lmi_map *m, const struct lmi_file *f, uint64_t at,
			     uint64_t bytes, bool direct, lmi_map_fn fn, void *arg,
			     struct lmd_error *err);
/* Reads like lmi_map_load, through the page cache and without a progress callback. */
enum lmd_status lmi_map_read(struct lmi_map *m, const struct lmi_file *f, uint64_t at,
			     uint64_t bytes, struct lmd_error *err);

/* Brings the map into memory and locks it there, in steps of 64 MiB. Returns false if the system
 * refuses or fn cancels; nothing stays locked then. */
bool lmi_map_lock(const struct lmi_map *m, lmi_map_fn fn, void *arg);

/* *m may be zeroed. */
void lmi_map_close(struct lmi_map *m);

/* Fails unless the folder in which `path` would be created exists; the error names the folder. */
enum lmd_status lmi_file_check_folder(const char *path, struct lmd_error *err);

/* After `path` was created or renamed: its name is on the disk as well. File systems that cannot sync
 * a folder are ignored. */
void lmi_file_sync_folder(const char *path);

/* A new file that replaces `path` only when it is complete: it is written under a temporary name in
 * the same folder, fsynced and renamed, and the folder is fsynced. */
struct lmi_new_file {
	int fd;
	uint64_t bytes; /* offset of the end of what has been written */
	char *path, *temp;
};

/* mode is as for open(2). A path that exists and is not a regular file is LMD_INVALID. */
enum lmd_status lmi_new_file_open(struct lmi_new_file *f, const char *path, unsigned mode,
				  struct lmd_error *err);
enum lmd_status lmi_new_file_write(struct lmi_new_file *f, const void *data, size_t n,
				   struct lmd_error *err);
/* Writes n bytes at offset `at`, independent of earlier writes; holes read as zeros. */
enum lmd_status lmi_new_file_write_at(struct lmi_new_file *f, uint64_t at, const void *data,
				      size_t n, struct lmd_error *err);
/* The struct is empty afterwards, on success and on failure; on failure the old file is
 * untouched. */
enum lmd_status lmi_new_file_commit(struct lmi_new_file *f, struct lmd_error *err);
/* Removes the temporary file. Does nothing after commit, or if open failed. */
void lmi_new_file_abort(struct lmi_new_file *f);
/* Commits but keeps the file open; on failure it keeps its temporary name. For core/base alone. */
enum lmd_status lmi_new_file_publish(struct lmi_new_file *f, struct lmd_error *err);

/* Reads a whole file of at most max bytes and appends a zero byte. The caller frees *out with
 * lmi_free(). Error messages name the path. */
enum lmd_status lmi_file_read_all(const char *path, uint64_t max, char **out, size_t *n,
				  struct lmd_error *err);

#endif /* LLAMAD_CORE_BASE_FILE_H */
