/* SPDX-License-Identifier: MIT
 *
 * journal.h - the file of a durable stream: a list of records, each with its length and a checksum.
 *
 *     8 bytes "lmdjrnl1"
 *     for each record: u32 n, u64 checksum, n bytes           (little-endian)
 *
 * The checksum covers the bytes, their number and their place in the file.  A process that dies
 * while it writes leaves an incomplete last record.  Reading ends before the first record that is
 * not as it was written, so that what is read is always a beginning of what was written.
 *
 * Pure: no file, no clock, no thread. */
#ifndef LLAMAD_SERVICE_JOURNAL_H
#define LLAMAD_SERVICE_JOURNAL_H

#include "core/engine/engine.h"
#include "proto/proto.h"
#include "service/output.h"
#include "service/stream.h"

#define LMI_SVC_JOURNAL_RECORD_MAX (64u << 20)

/* ---- records as bytes ---- */

/* Appends the first bytes of a file. */
bool lmi_svc_journal_begin(struct lmi_wire_buf *out);
/* Appends a record; at: the offset in the file of the first byte of `out`.  Returns false if out of
 * memory, or if n is larger than LMI_SVC_JOURNAL_RECORD_MAX. */
bool lmi_svc_journal_add(struct lmi_wire_buf *out, uint64_t at, const void *record, size_t n);
/* Sets *record to the one at part[*at] and moves *at behind it; *at is 0 at first.  base: offset in
 * the file of its part.  Returns false at the end, or if the rest is not as it was written. */
bool lmi_svc_journal_next(const char *part, size_t n, uint64_t base, size_t *at,
			  struct lmd_str *record);

/* ---- what the records of a stream say ---- */

enum lmi_svc_journal_kind {
	LMI_SVC_JOURNAL_HEAD = 1,  /* the request; always the first record */
	LMI_SVC_JOURNAL_START = 2, /* what became of it before it ran */
	LMI_SVC_JOURNAL_TOKEN = 3, /* a token with its text, and its log probabilities */
	LMI_SVC_JOURNAL_TEXT = 4,  /* more text of the last token */
	LMI_SVC_JOURNAL_END = 5,   /* how it ended */
	LMI_SVC_JOURNAL_READ = 6   /* the end was sent to a reader; without members */
};

struct lmi_svc_journal_head {
	uint8_t id[LMI_SVC_ID_BYTES];
	struct lmi_svc_principal principal; /* without pid and conn */
	uint64_t seed;
	struct lmd_str key;     /* hash of the API key; empty: none */
	struct lmd_str digest;  /* of the model */
	struct lmd_str request; /* the message, encoded */
	struct lmd_str note;    /* of a subscriber (durable_push.h); empty: none */
};

struct lmi_svc_journal_start {
	struct lmd_str request; /* with what presets added */
	struct lmd_str adapter; /* what the engine was told of it; empty: none */
	struct lmd_str format;  /* name of the answer's format; empty: the answer is not parsed */
	bool tools, thinks;
	const double *sampling; /* [n_sampling] defaults of sampling parameters */
	uint32_t n_sampling;
	const lmd_token *tokens; /* [n_tokens] of the prompt */
	uint32_t n_tokens;
};

struct lmi_svc_journal_token {
	lmd_token token;
	uint32_t n_logprobs;
	struct lmd_str logprobs; /* packed as in logprobs.h */
	struct lmd_str text;
};

/* One record.  When it was read, its pointers refer to the record; those to numbers are only aligned
 * as bytes, so copy them. */
struct lmi_svc_journal_record {
	enum lmi_svc_journal_kind kind;
	union {
		struct lmi_svc_journal_head head;
		struct lmi_svc_journal_start start;
		struct lmi_svc_journal_token token; /* TEXT: only text */
		struct lmi_svc_end end;
	} u;
};

/* Appends a record to `out`, whose first byte is at offset `at` of the file; scratch: memory that the
 * caller keeps for this. */
bool lmi_svc_journal_put(struct lmi_wire_buf *out, uint64_t at, struct lmi_wire_buf *scratch,
			 const struct lmi_svc_journal_record *r);
/* Reads the next record, as lmi_svc_journal_next.  A record that this version does not know ends the
 * file as well. */
bool lmi_svc_journal_read(const char *part, size_t n, uint64_t base, size_t *at,
			  struct lmi_svc_journal_record *out);

#endif /* LLAMAD_SERVICE_JOURNAL_H */
