/* SPDX-License-Identifier: MIT
 *
 * audit_chain.h - records of the audit log, for its files only. */
#ifndef LLAMAD_STORE_AUDIT_CHAIN_H
#define LLAMAD_STORE_AUDIT_CHAIN_H

#include <stdbool.h>

#include "core/base/sha256.h"
#include "store/audit.h"

#define LMI_STORE_AUDIT_LINE 4096 /* most bytes of a line, with its newline */

/* The end of a chain. */
struct lmi_store_audit_head {
	uint64_t seq; /* 0: no record */
	char hash[LMI_SHA256_HEX];
};

void lmi_store_audit_head_init(struct lmi_store_audit_head *h);
/* Reads audit.head.  Returns LMD_NOTFOUND if it is missing, LMD_CORRUPT if it is damaged. */
enum lmd_status lmi_store_audit_head_read(struct lmi_store_audit_head *h, const char *dir,
					  struct lmd_error *err);
/* Checks that the line of n bytes, without its newline, has the hash that it states, and that it
 * follows *h; then *h becomes its end.  On failure `why` says what is wrong. */
bool lmi_store_audit_follow(struct lmi_store_audit_head *h, const char *line, size_t n,
			    const char **why);
/* Writes the hash of some bytes; returns false if there is no memory. */
bool lmi_store_audit_hash(char out[LMI_SHA256_HEX], const void *bytes, size_t n);

#endif /* LLAMAD_STORE_AUDIT_CHAIN_H */
