/* SPDX-License-Identifier: MIT
 *
 * The codes of HTTP for the statuses of the service.  Codes from 500 on, and 429, are those that
 * clients repeat a request for; all others say that the request itself must change. */
#include "daemon/http/http_impl.h"

int lmi_http_code_for(const struct lmi_http_server *h, const struct lmi_svc_principal *principal,
		      enum lmd_status st)
{
	return st == LMD_BUSY && h->svc && lmi_service_over_quota(h->svc, principal)
		       ? 429
		       : lmi_http_code(st);
}

int lmi_http_code(enum lmd_status st)
{
	switch (st) {
	case LMD_OK:
		return 200;
	case LMD_INVALID:
	case LMD_UNSUPPORTED:
		return 400;
	case LMD_DENIED:
		return 403;
	case LMD_NOTFOUND:
		return 404;
	case LMD_NOMEM:
	case LMD_BUSY:
	case LMD_CANCELLED:
		return 503;
	case LMD_TIMEOUT:
		return 504;
	case LMD_CORRUPT:
	case LMD_IO:
	case LMD_DEVICE:
	case LMD_INTERNAL:
		break;
	}
	return 500;
}
