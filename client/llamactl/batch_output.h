/* SPDX-License-Identifier: MIT
 *
 * batch_output.h - the results of a batch: a file with a line for each request, in the form of
 * OpenAI's batches:
 *     {"id": ..., "custom_id": ..., "response": {"status_code": 200, "request_id": ..., "body": ...},
 *      "error": null}
 * or, for a request without a response, with "response": null and "error": {"code": ..., "message":
 * ...}. Lines are appended one at a time, so that a batch that was interrupted can go on. */
#ifndef LLAMAD_LLAMACTL_BATCH_OUTPUT_H
#define LLAMAD_LLAMACTL_BATCH_OUTPUT_H

#include "client/llamactl/batch_lines.h"

struct lmi_ctl_batch_output {
	const char *path;
	int fd; /* locked against other processes */
};

/* What became of a request. */
struct lmi_ctl_batch_result {
	long code;		/* of the response; 0: there was none */
	const char *request_id; /* "": not known */
	const char *body;	/* [n] bytes of the response */
	size_t n;
	const char *error_code, *error; /* without a response: why; a word, and a sentence */
};

/* Opens the file, or creates it, and sets the state of each line whose result it has. An incomplete
 * last line is removed. With again, the results of lines that failed are removed, and the lines stay
 * open. LMD_INVALID: the file has something else; LMD_BUSY: another process is writing it. o->fd is
 * -1 after a failure. */
enum lmd_status lmi_ctl_batch_output_open(struct lmi_ctl_batch_output *o, const char *path,
					  struct lmi_ctl_batch_lines *lines, bool again,
					  struct lmd_error *err);
/* Writes the result of a line and sets its state. */
enum lmd_status lmi_ctl_batch_output_add(struct lmi_ctl_batch_output *o,
					 struct lmi_ctl_batch_line *line,
					 const struct lmi_ctl_batch_result *r, struct lmd_error *err);
void lmi_ctl_batch_output_close(struct lmi_ctl_batch_output *o);

#endif /* LLAMAD_LLAMACTL_BATCH_OUTPUT_H */
