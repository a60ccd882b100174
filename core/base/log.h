/* SPDX-License-Identifier: MIT
 *
 * log.h - one event, one line.
 *
 * A log is an object of its host, not of the process.  Each event is formatted on the
 * stack and written with a single call, so lines of several threads never mix and nothing
 * is allocated or locked. */
#ifndef LLAMAD_CORE_BASE_LOG_H
#define LLAMAD_CORE_BASE_LOG_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "llamad/host.h"

/* Longest line with its newline; longer ones are cut and end in "...". */
#define LMI_LOG_LINE 1024

struct lmi_log {
	_Atomic int level; /* greatest enum lmd_log_level that is written; any thread sets it */
	int fd;            /* where to; not owned */
	bool journal;      /* lines begin with "<N>", the priority that the journal reads */
};

void lmi_log_init(struct lmi_log *log, int level, int fd);

/* "llamad: warn: topic: sentence", for the journal "<4>topic: sentence".  Control characters become
 * spaces.  Any thread. */
void lmi_log_vwrite(struct lmi_log *log, const char *topic, int level, const char *fmt, va_list ap);
void lmi_log_write(struct lmi_log *log, const char *topic, int level, const char *fmt, ...)
	LMD_PRINTF(4, 5);

/* "error" .. "trace"; "?" for any other number. */
const char *lmi_log_level_name(int level);

#endif /* LLAMAD_CORE_BASE_LOG_H */
