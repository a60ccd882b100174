/* SPDX-License-Identifier: MIT
 *
 * batch_lines.h - the requests of a batch: a file with a JSON object in each line.
 *
 * A line is {"custom_id": ..., "method": "POST", "url": "/v1/...", "body": {...}}, as OpenAI's
 * batches have it, or, with an endpoint for all of them, the body of a request alone. */
#ifndef LLAMAD_LLAMACTL_BATCH_LINES_H
#define LLAMAD_LLAMACTL_BATCH_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/file.h"
#include "core/base/strmap.h"

#define LMI_CTL_BATCH_LINE_BYTES (16u << 20) /* of a line */
#define LMI_CTL_BATCH_LINES	 1000000u
#define LMI_CTL_BATCH_ID_BYTES	 512u

enum lmi_ctl_batch_state {
	LMI_CTL_BATCH_OPEN,
	LMI_CTL_BATCH_ANSWERED,
	LMI_CTL_BATCH_FAILED,
};

struct lmi_ctl_batch_line {
	uint64_t at; /* offset in the file */
	uint32_t bytes;
	uint32_t number;	/* from 1, with empty lines */
	const char *custom_id; /* its own, or "line-NUMBER" */
	enum lmi_ctl_batch_state state;
};

struct lmi_ctl_batch_lines {
	const char *path;
	const char *endpoint; /* path of the URL for lines that have none; NULL: none */
	const char *model;    /* for bodies that have none; NULL: none */
	struct lmi_file file;
	struct lmi_ctl_batch_line *line; /* [n] */
	uint32_t n, cap;
	char *buf; /* LMI_CTL_BATCH_LINE_BYTES */
	struct lmd_arena *ids;
	struct lmi_strmap by_id;
};

/* A request that is ready to be sent; on the heap. */
struct lmi_ctl_batch_request {
	char *path; /* of the URL: "/v1/chat/completions" */
	char *body;
};

/* Opens the file and checks all lines: none is longer than the bound, each is a request, and no
 * custom_id is there twice. An error names the line. l: zeroed but for path, endpoint and model,
 * which must live as long as it; release it with fini, also after a failure. */
enum lmd_status lmi_ctl_batch_lines_open(struct lmi_ctl_batch_lines *l, struct lmd_error *err);
void lmi_ctl_batch_lines_fini(struct lmi_ctl_batch_lines *l);

/* Returns the line with this custom_id, or NULL. */
struct lmi_ctl_batch_line *lmi_ctl_batch_lines_find(struct lmi_ctl_batch_lines *l,
						    const char *custom_id);

/* Reads the request of line i; the caller owns it. */
enum lmd_status lmi_ctl_batch_lines_read(struct lmi_ctl_batch_lines *l, uint32_t i,
					 struct lmi_ctl_batch_request *out, struct lmd_error *err);
void lmi_ctl_batch_request_fini(struct lmi_ctl_batch_request *q);

#endif /* LLAMAD_LLAMACTL_BATCH_LINES_H */
