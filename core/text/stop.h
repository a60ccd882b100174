/* SPDX-License-Identifier: MIT
 *
 * stop.h - texts at which a generation ends, wherever the borders of tokens lie.
 *
 * Bytes go in as they are generated and come out as soon as they cannot belong to a stop
 * text any more.  The first stop text that is complete ends the stream; of several that end
 * at the same byte, the longest.
 *
 * Owned by one thread.  Feeding allocates nothing. */
#ifndef LLAMAD_CORE_TEXT_STOP_H
#define LLAMAD_CORE_TEXT_STOP_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

#define LMI_STOP_MAX       64    /* texts */
#define LMI_STOP_MAX_BYTES 4096  /* of one text */

struct lmi_stop;

/* Copies n texts.  LMD_INVALID names the text that is empty or too long, or the number. */
enum lmd_status lmi_stop_create(struct lmi_stop **out, const struct lmd_str *text, size_t n,
				struct lmd_error *err);
void lmi_stop_destroy(struct lmi_stop *s); /* NULL allowed */

/* Forgets what was fed. */
void lmi_stop_reset(struct lmi_stop *s);

/* The longest text; a feed of n bytes gives out at most n + this. */
size_t lmi_stop_max(const struct lmi_stop *s);

/* Takes in[0..n).  Writes what may be given out and sets *n_out.  Returns the index of the stop
 * text that is complete now, or -1.  After a stop, *n_out ends in front of the stop text,
 * *used says how much of `in` was taken, and the object is as after reset. */
int lmi_stop_feed(struct lmi_stop *s, const char *in, size_t n, char *out, size_t *n_out,
		  size_t *used);

/* The end without a stop: writes what is held back (at most lmi_stop_max - 1 bytes). */
size_t lmi_stop_flush(struct lmi_stop *s, char *out);

#endif /* LLAMAD_CORE_TEXT_STOP_H */
