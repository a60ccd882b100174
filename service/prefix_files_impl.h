/* SPDX-License-Identifier: MIT
 *
 * prefix_files_impl.h - the index of the disk tier's files, shared by prefix_files.c and prefix_scan.c. */
#ifndef LLAMAD_SERVICE_PREFIX_FILES_IMPL_H
#define LLAMAD_SERVICE_PREFIX_FILES_IMPL_H

#include <pthread.h>

#include "service/prefix_files.h"

#define LMI_SVC_PREFIX_HEAD_BYTES 84 /* of a file, before its rows */

struct lmi_svc_prefix_files {
	const char *state_dir;
	pthread_mutex_t scan_lock; /* held while the folder is read; taken before `lock` */
	pthread_mutex_t lock;	   /* of everything below */
	struct lmi_svc_prefix_index index;
	uint64_t serial;
	struct lmi_svc_prefix_files_stats stats; /* but for what the index counts */
};

#endif /* LLAMAD_SERVICE_PREFIX_FILES_IMPL_H */
