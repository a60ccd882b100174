/* SPDX-License-Identifier: MIT
 *
 * admin.h - endpoints about the server itself: health, version, metrics, description. */
#ifndef LLAMAD_DAEMON_HTTP_ADMIN_ADMIN_H
#define LLAMAD_DAEMON_HTTP_ADMIN_ADMIN_H

#include "daemon/http/route.h"

extern const struct lmi_http_routes lmi_http_admin_routes;

void lmi_http_admin_description(struct lmi_http_exchange *x);
void lmi_http_admin_health(struct lmi_http_exchange *x);
void lmi_http_admin_index(struct lmi_http_exchange *x);
void lmi_http_admin_live(struct lmi_http_exchange *x);
void lmi_http_admin_metrics(struct lmi_http_exchange *x);
void lmi_http_admin_ping(struct lmi_http_exchange *x);
void lmi_http_admin_ready(struct lmi_http_exchange *x);
void lmi_http_admin_usage(struct lmi_http_exchange *x);
void lmi_http_admin_version(struct lmi_http_exchange *x);

/* Endpoints of vLLM. */
void lmi_http_admin_is_sleeping(struct lmi_http_exchange *x);
void lmi_http_admin_load(struct lmi_http_exchange *x);
void lmi_http_admin_sleep(struct lmi_http_exchange *x);
void lmi_http_admin_wake_up(struct lmi_http_exchange *x);

#endif /* LLAMAD_DAEMON_HTTP_ADMIN_ADMIN_H */
