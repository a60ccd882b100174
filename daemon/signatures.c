/* SPDX-License-Identifier: MIT
 *
 * Which models the daemon may open: the keys signatures and trusted_keys. */
#include "core/sign/policy.h"
#include "daemon/daemon_impl.h"

/* Any thread: models are opened by jobs. */
static void on_warning(void *arg, const char *text)
{
	struct lmi_daemon *d = arg;

	LMI_DAEMON_LOG(d, LMD_LOG_WARN, "signatures: %s", text);
}

enum lmd_status lmi_daemon_set_signatures(struct lmi_daemon *d, const struct lmi_config *c,
					  struct lmd_error *err)
{
	const struct lmi_sign_policy_opts opts = {
		.mode = (enum lmi_sign_mode)c->signatures,
		.keys = c->trusted_keys.item,
		.n_keys = c->trusted_keys.n,
		.warn = on_warning,
		.arg = d,
	};
	enum lmd_status st = lmi_sign_policy_set(&opts, err);

	if (st != LMD_OK)
		lmd_error_prefix(err, "trusted_keys");
	return st;
}
