/* SPDX-License-Identifier: MIT
 *
 * pacer.h - the share of the loop's time that long messages may take.
 *
 * The loop decodes requests, those of the socket protocol and those of HTTP; each of the two has a pacer.  Short ones take microseconds, but one of a million tokens takes as long
 * as several steps of an engine, in which no client gets a token.  So after each long message the
 * others wait until long messages have taken at most one LMI_FRONT_PACER_SHARE-th of the time: then
 * both together delay fewer than one token in twenty, whatever clients send.  Waiting costs nothing: the bytes
 * stay in the socket, and the client cannot send more. */
#ifndef LLAMAD_DAEMON_FRONT_PACER_H
#define LLAMAD_DAEMON_FRONT_PACER_H

#include <stdbool.h>
#include <stdint.h>

#define LMI_FRONT_PACER_SHARE 64u
#define LMI_FRONT_LONG_BYTES  65536u /* longer messages are long ones */
/* However long a message took, the next one waits at most this time. */
#define LMI_FRONT_PACER_MAX_NS 2000000000u

struct lmi_front_pacer {
	uint64_t next_ns; /* no long message is read before */
};

/* Adds a message that took the loop spent_ns and ended at now. */
void lmi_front_pacer_charge(struct lmi_front_pacer *p, uint64_t now, uint64_t spent_ns);
/* Returns whether a long message may be read. */
static inline bool lmi_front_pacer_ready(const struct lmi_front_pacer *p, uint64_t now)
{
	return now >= p->next_ns;
}

#endif /* LLAMAD_DAEMON_FRONT_PACER_H */
