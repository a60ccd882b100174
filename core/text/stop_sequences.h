/* SPDX-License-Identifier: MIT
 *
 * stop_sequences.h - finds stop sequences in the generated text, wherever the token boundaries are.
 *
 * Bytes are fed as they are generated and come out as soon as they cannot be part of a stop
 * sequence.  The first stop sequence that is complete ends the stream; if several end at the same
 * byte, the longest one wins.
 *
 * Owned by one thread.  Feeding allocates nothing. */
#ifndef LLAMAD_CORE_TEXT_STOP_SEQUENCES_H
#define LLAMAD_CORE_TEXT_STOP_SEQUENCES_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"
#include "llamad/types.h"

#define LMI_STOP_SEQUENCES_MAX      64   /* sequences */
#define LMI_STOP_SEQUENCE_BYTES_MAX 4096 /* of one sequence */

struct lmi_stop_matcher;

/* Copies n stop sequences.  LMD_INVALID if one is empty or too long, or if there are too many; the
 * message says which. */
enum lmd_status lmi_stop_create(struct lmi_stop_matcher **out, const struct lmd_str *text, size_t n,
				struct lmd_error *err);
void lmi_stop_destroy(struct lmi_stop_matcher *s); /* NULL allowed */

/* Forgets everything that was fed. */
void lmi_stop_reset(struct lmi_stop_matcher *s);

/* Feeds in[0..n).  Writes the bytes that cannot be part of a stop sequence and sets *n_out, which is
 * at most n plus the length of the longest stop sequence.
 * Returns the index of the stop sequence that is now complete, or -1.  After a match the output
 * ends before the stop sequence, *used is the number of input bytes consumed, and the object is as
 * after lmi_stop_reset. */
int lmi_stop_feed(struct lmi_stop_matcher *s, const char *in, size_t n, char *out, size_t *n_out,
		  size_t *used);

/* Ends the stream without a match: writes the bytes that are held back (fewer than
 * the longest stop sequence has). */
size_t lmi_stop_flush(struct lmi_stop_matcher *s, char *out);

#endif /* LLAMAD_CORE_TEXT_STOP_SEQUENCES_H */
