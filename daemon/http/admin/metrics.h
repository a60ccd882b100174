/* SPDX-License-Identifier: MIT
 *
 * metrics.h - parts of the text format of Prometheus, shared by the files of this folder.  If memory
 * runs out, the text is incomplete. */
#ifndef LLAMAD_DAEMON_HTTP_ADMIN_METRICS_H
#define LLAMAD_DAEMON_HTTP_ADMIN_METRICS_H

#include "daemon/http/times.h"
#include "proto/buf.h"
#include "proto/proto.h"

/* Appends at most 511 bytes. */
void lmi_http_metrics_add(struct lmi_wire_buf *b, const char *fmt, ...) LMD_PRINTF(2, 3);
/* Appends a label's value with its special characters escaped. */
void lmi_http_metrics_add_value(struct lmi_wire_buf *b, const struct lmd_str *v);
/* Appends the histograms, also under the names of vLLM. */
void lmi_http_metrics_add_times(struct lmi_wire_buf *b, const struct lmi_http_times *list);
/* Appends other metrics under the names of vLLM and llama.cpp's server. */
void lmi_http_metrics_add_aliases(struct lmi_wire_buf *b, const struct lmi_wire_rep_stats *r,
				  const struct lmi_http_times *list);

#endif /* LLAMAD_DAEMON_HTTP_ADMIN_METRICS_H */
