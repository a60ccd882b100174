/* SPDX-License-Identifier: MIT
 *
 * batch_progress.h - which lines of a batch are done, and their results; kept beside the batch while it
 * runs, so that it can go on after the server was stopped. */
#ifndef LLAMAD_DAEMON_HTTP_OPENAI_BATCH_PROGRESS_H
#define LLAMAD_DAEMON_HTTP_OPENAI_BATCH_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "llamad/status.h"
#include "proto/proto.h"

struct lmi_openai_batch_progress {
	uint8_t *done; /* a bit for each of n_line lines that are not empty */
	uint32_t n_line, n_completed, n_failed;
	struct lmi_wire_buf out, errors; /* results, a line each */
};

/* Returns false if out of memory. */
bool lmi_openai_batch_progress_init(struct lmi_openai_batch_progress *p, uint32_t n_line);
void lmi_openai_batch_progress_fini(struct lmi_openai_batch_progress *p);

void lmi_openai_batch_progress_mark(struct lmi_openai_batch_progress *p, uint32_t line);
bool lmi_openai_batch_progress_is_done(const struct lmi_openai_batch_progress *p, uint32_t line);

/* Appends the text that parse reads; returns false if out of memory. */
bool lmi_openai_batch_progress_emit(const struct lmi_openai_batch_progress *p,
				    struct lmi_wire_buf *to);
/* Reads it into p, which has been initialised with the number of lines of the input.  On failure p is
 * unchanged.  LMD_CORRUPT: it is not such a text, or that of an input with other lines. */
enum lmd_status lmi_openai_batch_progress_parse(struct lmi_openai_batch_progress *p,
						const char *text, size_t n, struct lmd_error *err);

#endif /* LLAMAD_DAEMON_HTTP_OPENAI_BATCH_PROGRESS_H */
