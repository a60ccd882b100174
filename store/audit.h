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
 * removed at the end are missed because of audit.head.
 *
 * These hashes have no key: a process that can write the state folder can make a new log with new hashes.
 * With a key, which is kept elsewhere, records end with mac in place of hash, the HMAC-SHA256 of the same
 * bytes, and audit.head has a MAC of its own, of its text with a word before it, so that it cannot be made
 * from a record.  A log may begin without a key and go on with one, and not the reverse.  What remains possible
 * is to put back an older copy of the whole log; copies and the daemon's messages (lmi_store_audit_last)
 * show that.
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

struct lmi_store_audit_key {
	uint8_t bytes[32];
};

/* Reads a key: 64 lower-case hex digits.  Returns LMD_NOTFOUND if there is no such file, LMD_INVALID if
 * its mode is above 0640 or if it has no key. */
LMD_NODISCARD enum lmd_status lmi_store_audit_key_read(struct lmi_store_audit_key *key,
						       const char *path, struct lmd_error *err);
/* Makes a file with a new random key and mode 0600.  Fails if the file exists. */
LMD_NODISCARD enum lmd_status lmi_store_audit_key_make(const char *path, struct lmd_error *err);

/* Opens the log for appending, and removes an incomplete record that a crash has left at its end.
 * key: NULL = none; copied.  Returns LMD_DENIED if the log has a key and none is given, or another one.
 * rotate_bytes: 0 = LMI_STORE_AUDIT_BYTES. */
LMD_NODISCARD enum lmd_status lmi_store_audit_open(struct lmi_store_audit **out, const char *dir,
						   const struct lmi_store_audit_key *key,
						   uint64_t rotate_bytes, struct lmd_error *err);
/* Returns the number of the last record, 0 = none, and its hash or MAC, valid until the next call. */
uint64_t lmi_store_audit_last(const struct lmi_store_audit *a, const char **hash);
/* Returns the length of the incomplete record that opening the log has removed; 0: there was none. */
uint64_t lmi_store_audit_repaired(const struct lmi_store_audit *a);
/* Appends a record, which is then on the disk. */
LMD_NODISCARD enum lmd_status lmi_store_audit_append(struct lmi_store_audit *a,
						     const struct lmi_store_audit_event *e,
						     struct lmd_error *err);
void lmi_store_audit_close(struct lmi_store_audit *a); /* NULL allowed */

struct lmi_store_audit_result {
	uint64_t n;	      /* records */
	uint64_t n_plain;     /* the first ones, which were made without a key */
	uint64_t n_unchecked; /* those with a MAC, if no key was given: only their order was checked */
};

/* Reads all records in their order and checks the chain.  key: NULL = none.  `record` is called with each
 * line, without its newline, before a later one is checked; NULL allowed.  Returns LMD_CORRUPT, naming the
 * place, at the first one that does not fit, or if a key is given and no record has a MAC, and LMD_NOTFOUND if
 * there is no log; *r then says how far it got.  A daemon may append at the same time. */
LMD_NODISCARD enum lmd_status
lmi_store_audit_verify(const char *dir, const struct lmi_store_audit_key *key,
		       void (*record)(void *arg, const char *line, size_t n), void *arg,
		       struct lmi_store_audit_result *r, struct lmd_error *err);

#endif /* LLAMAD_STORE_AUDIT_H */
