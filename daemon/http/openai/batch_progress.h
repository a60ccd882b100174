/* SPDX-License-Identifier: MIT
 *
 * batch_progress.h - the results of a batch, and which of its lines are done.
 *
 * A result is a line of JSON in the file of answers or in that of errors.  Its id has the number of the
 * line, so that these two files tell what is done when a batch goes on after the daemon has ended. */
#ifndef LLAMAD_DAEMON_HTTP_OPENAI_BATCH_PROGRESS_H
#define LLAMAD_DAEMON_HTTP_OPENAI_BATCH_PROGRESS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/proto.h"

/* Room for the id of a line. */
#define LMI_OPENAI_BATCH_LINE_ID 48

struct lmi_openai_batch_progress {
	uint8_t *done; /* a bit for each of n_line lines that are not empty */
	uint32_t n_line, n_completed, n_failed;
};

/* Returns false if out of memory. */
bool lmi_openai_batch_progress_init(struct lmi_openai_batch_progress *p, uint32_t n_line);
void lmi_openai_batch_progress_fini(struct lmi_openai_batch_progress *p);

/* Says that a line is done; returns false if there is no such line, or if it was done before. */
bool lmi_openai_batch_progress_mark(struct lmi_openai_batch_progress *p, uint32_t line, bool failed);
bool lmi_openai_batch_progress_is_done(const struct lmi_openai_batch_progress *p, uint32_t line);

/* Writes the id of a line; batch is that of the batch without its prefix. */
void lmi_openai_batch_line_id(char id[LMI_OPENAI_BATCH_LINE_ID], const char *batch, uint32_t line);
/* Appends the result of the line with that id: a status code and a body of n bytes of JSON on one line.
 * custom_id may be NULL.  Returns false if out of memory; the buffer is then incomplete. */
bool lmi_openai_batch_result(struct lmi_wire_buf *to, const char *id, const json_t *custom_id, int code,
			     const char *body, size_t n);
/* Appends the result of the line with that id that has no response, with the code and the text of an error,
 * which need no escapes in JSON.  custom_id and the result are as above. */
bool lmi_openai_batch_result_error(struct lmi_wire_buf *to, const char *id, const json_t *custom_id,
				   const char *code, const char *text);
/* Marks the lines of the n bytes of a file of results.  Returns the length of what could be read: less than
 * n if the end is not a result of this batch, for example because it was not written completely. */
size_t lmi_openai_batch_progress_read(struct lmi_openai_batch_progress *p, const char *batch,
				      const char *text, size_t n, bool failed);

#endif /* LLAMAD_DAEMON_HTTP_OPENAI_BATCH_PROGRESS_H */
