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
	bool keyed; /* of a record: its hash is a MAC; of audit.head: it has a MAC */
};

/* Bytes of audit.head: number, hash, and with a key the MAC of both. */
#define LMI_STORE_AUDIT_HEAD_TEXT (20 + 1 + 64 + 1 + 64 + 2)

void lmi_store_audit_head_init(struct lmi_store_audit_head *h);
/* Reads audit.head.  key: NULL = none; its MAC is not checked then.  Returns LMD_NOTFOUND if it is missing,
 * LMD_CORRUPT if it is damaged, LMD_DENIED if its MAC is not one of this key. */
enum lmd_status lmi_store_audit_head_read(struct lmi_store_audit_head *h, const char *dir,
					  const struct lmi_store_audit_key *key,
					  struct lmd_error *err);
/* Writes the text of audit.head; returns its length, 0 if there is no memory. */
size_t lmi_store_audit_head_text(char out[LMI_STORE_AUDIT_HEAD_TEXT],
				 const struct lmi_store_audit_head *h,
				 const struct lmi_store_audit_key *key);
/* Checks that the line of n bytes, without its newline, has the hash that it states, and that it
 * follows *h; then *h becomes its end.  A MAC is not checked without a key.  On failure `why` says what
 * is wrong. */
bool lmi_store_audit_follow(struct lmi_store_audit_head *h, const char *line, size_t n,
			    const struct lmi_store_audit_key *key, const char **why);
/* Writes the hash of some bytes, or their MAC if key is not NULL; returns false if there is no memory. */
bool lmi_store_audit_hash(char out[LMI_SHA256_HEX], const struct lmi_store_audit_key *key,
			  const void *bytes, size_t n);

#endif /* LLAMAD_STORE_AUDIT_CHAIN_H */
