/* SPDX-License-Identifier: MIT
 *
 * prefix_files_impl.h - the index of the disk tier's files, shared by prefix_files.c and prefix_scan.c. */
#ifndef LLAMAD_SERVICE_PREFIX_FILES_IMPL_H
#define LLAMAD_SERVICE_PREFIX_FILES_IMPL_H

#include <pthread.h>

#include "service/prefix_files.h"

#define LMI_SVC_PREFIX_FILES_MAX  262144u /* files; more are not kept */
#define LMI_SVC_PREFIX_HEAD_BYTES 84	  /* of a file, before its rows */

struct lmi_svc_prefix_entry {
	struct lmi_svc_prefix_key key;
	struct lmi_svc_prefix_tenant *tenant;
	uint64_t bytes; /* of the file */
	uint64_t used;	/* number of its last use */
	struct lmi_svc_prefix_entry *bucket_next;
	struct lmi_svc_prefix_entry *older, *newer; /* of the tenant, by last use */
};

/* One that has files. */
struct lmi_svc_prefix_tenant {
	struct lmi_svc_prefix_tenant *next;
	uint64_t id, n_file, n_bytes;
	struct lmi_svc_prefix_entry *oldest, *newest;
};

struct lmi_svc_prefix_files {
	const char *state_dir;
	pthread_mutex_t scan_lock; /* held while the folder is read; taken before `lock` */
	pthread_mutex_t lock;	   /* of everything below */
	uint64_t max_bytes, serial, n_use;
	struct lmi_svc_prefix_entry **bucket;
	struct lmi_svc_prefix_tenant *tenants;
	uint64_t n_tenant;
	struct lmi_svc_prefix_files_stats stats;
};

/* Adds an entry as the latest one. Returns false, with the entry unchanged, if there is one with this key
 * or no memory. With the lock. */
bool lmi_svc_prefix_files_add(struct lmi_svc_prefix_files *f, struct lmi_svc_prefix_entry *own_e);

#endif /* LLAMAD_SERVICE_PREFIX_FILES_IMPL_H */
