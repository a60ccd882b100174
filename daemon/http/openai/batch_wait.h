/* SPDX-License-Identifier: MIT
 *
 * batch_wait.h - lines of a batch that were refused for a while, each with the time when it is due.
 *
 * A line that waits holds no place among those that run.  Times are those of a clock of the caller, in
 * ms. */
#ifndef LLAMAD_DAEMON_HTTP_OPENAI_BATCH_WAIT_H
#define LLAMAD_DAEMON_HTTP_OPENAI_BATCH_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of lines that wait; while there are that many, no further line begins. */
#define LMI_OPENAI_BATCH_WAITING 64u
/* Minimum and maximum of the time that a line waits. */
#define LMI_OPENAI_BATCH_WAIT_MIN_MS 100u
#define LMI_OPENAI_BATCH_WAIT_MAX_MS (60u * 60 * 1000)

struct lmi_openai_batch_waiting {
	uint32_t line;
	uint32_t n_refused; /* how often it was refused */
	size_t at;	    /* of the line in the input */
	uint64_t due_ms;
};

/* Zeroed at the beginning. */
struct lmi_openai_batch_wait {
	struct lmi_openai_batch_waiting v[LMI_OPENAI_BATCH_WAITING]; /* [n], the one that is due first at the end */
	uint32_t n;
};

/* Returns how long a line waits that was refused n_refused times: what the server said, or, if that is 0,
 * a second that doubles each time up to a minute; within the bounds above. */
uint32_t lmi_openai_batch_wait_ms(uint32_t n_refused, uint32_t retry_ms);
/* Adds a line; returns false if there is no room. */
bool lmi_openai_batch_wait_add(struct lmi_openai_batch_wait *w,
			       const struct lmi_openai_batch_waiting *line);
/* Removes the line that is due first, if it is due now; of those that are due at the same time the one with
 * the lowest number.  Returns false if none is. */
bool lmi_openai_batch_wait_take(struct lmi_openai_batch_wait *w, uint64_t now_ms,
				struct lmi_openai_batch_waiting *out);
/* Returns the time until the first line is due, in ms; UINT64_MAX: none waits. */
uint64_t lmi_openai_batch_wait_next(const struct lmi_openai_batch_wait *w, uint64_t now_ms);

#endif /* LLAMAD_DAEMON_HTTP_OPENAI_BATCH_WAIT_H */
