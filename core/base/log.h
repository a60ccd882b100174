/* SPDX-License-Identifier: MIT
 *
 * log.h - writes one line per event.
 *
 * A log is an object of its host, not of the process. Each event is formatted on the stack and
 * written with a single call, so lines of several threads never mix and nothing is allocated or
 * locked. */
#ifndef LLAMAD_CORE_BASE_LOG_H
#define LLAMAD_CORE_BASE_LOG_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/un.h>

#include "llamad/host.h"

/* Maximum length of a line with its newline; longer ones are cut and end in "...". */
#define LMI_LOG_LINE 1024

struct lmi_log {
	_Atomic int level; /* most verbose enum lmd_log_level that is written; any thread may set
			    * it */
	int fd;            /* output; not owned */
	bool journal;      /* lines start with "<N>", the priority for the journal */
	int socket;        /* with `journal`: entries go there and not to fd; -1: none */
	struct sockaddr_un address; /* of the journal */
};

/* Where systemd's journal takes entries. */
#define LMI_LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"

void lmi_log_init(struct lmi_log *log, int level, int fd);
void lmi_log_fini(struct lmi_log *log); /* closes the socket, not fd */

/* With `journal`, sends each event to this socket, as an entry in the journal's own protocol: MESSAGE,
 * PRIORITY, SYSLOG_IDENTIFIER, LLAMAD_TOPIC, and LLAMAD_NAME for each word name=VALUE after the last "; " of
 * the format ("model ready; model=%s ms=%llu" has LLAMAD_MODEL and LLAMAD_MS). An event that cannot be sent, or
 * not at once, is written to fd as before. Returns whether there is a socket. To be called before another thread uses the log.
 *
 * Source of the protocol: systemd.io/JOURNAL_NATIVE_PROTOCOL. */
bool lmi_log_open_socket(struct lmi_log *log, const char *path);

/* Writes "llamad: warn: topic: message", or for the journal "<4>topic: message". Control characters
 * become spaces. Any thread. */
void lmi_log_vwrite(struct lmi_log *log, const char *topic, int level, const char *fmt, va_list ap);

/* "error" .. "trace"; "?" for any other number. */
const char *lmi_log_level_name(int level);

#endif /* LLAMAD_CORE_BASE_LOG_H */
