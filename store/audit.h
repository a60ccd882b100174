/* SPDX-License-Identifier: MIT
 *
 * audit.h - the audit log: administrative and security events as lines of JSON, each with the hash of
 * the one before.
 *
 * Layout of the state folder:
 *     audit.log                  the latest records
 *     audit-NUMBER.log           older ones; NUMBER is that of the first record, with 20 digits
 *     audit.head                 number and hash of the last record
 *
 * A record is one line: seq (from 1), time, event, principal, subject, detail, prev (the hash of the
 * record before; zeros for the first one), and hash, the SHA-256 of the bytes of the line before
 * `,"hash":`.  A record that is changed, removed, added or moved breaks the chain; records that are
 * removed at the end are missed because of audit.head.  The hashes have no key: a process that can write
 * the state folder can make a new log with new hashes, which differs from copies that were exported before.
 *
 * Threads: a log may be used by one thread at a time; reading needs no log and may run anywhere. */
#ifndef LLAMAD_STORE_AUDIT_H
#define LLAMAD_STORE_AUDIT_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_STORE_AUDIT_BYTES (16u << 20) /* a file of this size is followed by a new one */
#define LMI_STORE_AUDIT_FIELD 256	  /* bytes of a text, longer ones are cut */

struct lmi_store_audit;

struct lmi_store_audit_event {
	int64_t at_ns;                                     /* since 1970-01-01 UTC */
	const char *event, *principal, *subject, *detail; /* NULL: "" */
};

/* Opens the log for appending, and removes an incomplete record that a crash has left at its end.
 * rotate_bytes: 0 = LMI_STORE_AUDIT_BYTES. */
LMD_NODISCARD enum lmd_status lmi_store_audit_open(struct lmi_store_audit **out, const char *dir,
						   uint64_t rotate_bytes, struct lmd_error *err);
/* Returns the length of the incomplete record that opening the log has removed; 0: there was none. */
uint64_t lmi_store_audit_repaired(const struct lmi_store_audit *a);
/* Appends a record, which is then on the disk. */
LMD_NODISCARD enum lmd_status lmi_store_audit_append(struct lmi_store_audit *a,
						     const struct lmi_store_audit_event *e,
						     struct lmd_error *err);
void lmi_store_audit_close(struct lmi_store_audit *a); /* NULL allowed */

/* Reads all records in their order and checks the chain.  `record` is called with each line, without
 * its newline, before a later one is checked; NULL allowed.  *n: the number of records.  Returns
 * LMD_CORRUPT, naming the place, at the first one that does not fit, or LMD_NOTFOUND if there is no
 * log.  A daemon may append at the same time. */
LMD_NODISCARD enum lmd_status
lmi_store_audit_verify(const char *dir, void (*record)(void *arg, const char *line, size_t n),
		       void *arg, uint64_t *n, struct lmd_error *err);

#endif /* LLAMAD_STORE_AUDIT_H */
