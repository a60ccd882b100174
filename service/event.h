/* SPDX-License-Identifier: MIT
 *
 * event.h - administrative and security events, which the process writes to its audit log. */
#ifndef LLAMAD_SERVICE_EVENT_H
#define LLAMAD_SERVICE_EVENT_H

#include "service/request.h"

/* Reports an event.  principal NULL: the daemon itself. */
void lmi_svc_event(const struct lmi_service *svc, const char *event,
		   const struct lmi_svc_principal *principal, const char *subject,
		   const char *detail);
/* Reports a request that is answered, if its op changes something and is for administrators, also if
 * it was refused.  err NULL: it succeeded, or its job has started. */
void lmi_svc_event_of_request(const struct lmi_svc_request *r, const struct lmd_error *err);
/* Reports the end of such a job.  err NULL: it succeeded. */
void lmi_svc_event_of_job(const struct lmi_svc_request *r, const struct lmd_error *err);

#endif /* LLAMAD_SERVICE_EVENT_H */
