/* SPDX-License-Identifier: MIT
 *
 * The list of the HTTP APIs.  To add one, include the header of its folder and add a line. */
#include "daemon/daemon_impl.h"
#include "daemon/http/admin/admin.h"
#include "daemon/http/anthropic/anthropic.h"
#include "daemon/http/llamacpp/llamacpp.h"
#include "daemon/http/ollama/ollama.h"
#include "daemon/http/openai/openai.h"

const struct lmi_http_routes *const lmi_daemon_http_apis[] = {
	&lmi_http_admin_routes,
	&lmi_openai_routes,
	&lmi_anthropic_routes,
	&lmi_ollama_routes,
	&lmi_llamacpp_routes,
	NULL,
};
