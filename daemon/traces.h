/* SPDX-License-Identifier: MIT
 *
 * traces.h - spans of answers for OpenTelemetry. */
#ifndef LLAMAD_DAEMON_TRACES_H
#define LLAMAD_DAEMON_TRACES_H

#include <stdbool.h>

/* The header traceparent of W3C Trace Context. */
struct lmi_daemon_traceparent {
	char trace[33], span[17]; /* lower-case hex digits; span "": none */
	bool sampled;
};
/* Returns false if the text is not a valid one. */
bool lmi_daemon_traceparent_parse(struct lmi_daemon_traceparent *out, const char *text);

#endif /* LLAMAD_DAEMON_TRACES_H */
