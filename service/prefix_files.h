/* SPDX-License-Identifier: MIT
 *
 * prefix_files.h - the disk tier of the prefix cache: pages and states of prompts as files.
 *
 *     state/prefixes/TENANT/CHAIN-GROUP    one page or state: head and rows
 *
 * TENANT is a number in hex; CHAIN and GROUP are those of the key (prefix_index.h). The folder is the
 * list: nothing else has to agree with it after a crash. Files are not synced: every byte is covered by a
 * SHA-256, so that what a power failure damages is dropped when it is read.
 *
 * What was used longest ago is removed first, within the shares of prefix_index.h. Threads: any; only the
 * index is locked, never while a file is read or written. */
#ifndef LLAMAD_SERVICE_PREFIX_FILES_H
#define LLAMAD_SERVICE_PREFIX_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "service/prefix_index.h"

struct lmi_cancel; /* core/base/cancel.h */
struct lmi_svc_prefix_files;

/* Has no files yet. The path of the state folder must live as long as the result. */
enum lmd_status lmi_svc_prefix_files_create(struct lmi_svc_prefix_files **out, const char *state_dir,
					    uint64_t max_bytes, struct lmd_error *err);
/* Reads which files there are and removes what is left of interrupted writes and what exceeds the limit.
 * Nothing may be written meanwhile. Returns false if the cancel word, which may be NULL, was set: then no
 * file is known. */
bool lmi_svc_prefix_files_scan(struct lmi_svc_prefix_files *f, const struct lmi_cancel *cancel);
/* f may be NULL. */
void lmi_svc_prefix_files_destroy(struct lmi_svc_prefix_files *f);
/* Changes the limit; 0: nothing is kept. Returns true if there is more now: call lmi_svc_prefix_files_trim. */
bool lmi_svc_prefix_files_limit(struct lmi_svc_prefix_files *f, uint64_t max_bytes);
/* Removes what exceeds the limit. */
void lmi_svc_prefix_files_trim(struct lmi_svc_prefix_files *f);

bool lmi_svc_prefix_files_has(struct lmi_svc_prefix_files *f, const struct lmi_svc_prefix_key *key);
/* It was used: it is removed later than the others. Does nothing if it is not there. */
void lmi_svc_prefix_files_touch(struct lmi_svc_prefix_files *f,
				const struct lmi_svc_prefix_key *key);
/* Writes n bytes of rows, unless they are there. LMD_BUSY: they exceed the limit, or the disk is full. */
enum lmd_status lmi_svc_prefix_files_put(struct lmi_svc_prefix_files *f,
					 const struct lmi_svc_prefix_key *key, const void *bytes,
					 size_t n, struct lmd_error *err);
/* Reads n bytes of rows. LMD_NOTFOUND; LMD_CORRUPT: the file is damaged, or has another length, and was
 * removed. */
enum lmd_status lmi_svc_prefix_files_get(struct lmi_svc_prefix_files *f,
					 const struct lmi_svc_prefix_key *key, void *bytes, size_t n,
					 struct lmd_error *err);
/* Removes everything of a tenant. */
void lmi_svc_prefix_files_forget(struct lmi_svc_prefix_files *f, uint64_t tenant);

struct lmi_svc_prefix_files_stats {
	uint64_t n_file, n_bytes; /* now */
	uint64_t n_put, n_get, n_evicted, n_damaged;
};
void lmi_svc_prefix_files_stats(struct lmi_svc_prefix_files *f,
				struct lmi_svc_prefix_files_stats *out);

#endif /* LLAMAD_SERVICE_PREFIX_FILES_H */
