/* SPDX-License-Identifier: MIT
 *
 * The list of APIs.  To add one, declare its table of routes in a header of its folder and add a
 * line here. */
#include "daemon/http/admin/admin.h"
#include "daemon/http/http_impl.h"

const struct lmi_http_routes *const lmi_http_api_list[] = {
	&lmi_http_admin_routes,
	NULL,
};
