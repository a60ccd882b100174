/* SPDX-License-Identifier: MIT
 *
 * The policy of signatures of this program. */
#include "client/llamactl/signatures.h"

#include <stdio.h>
#include <stdlib.h>

static void on_warning(void *arg, const char *text)
{
	(void)arg;
	fprintf(stderr, "llamactl: signatures: %s\n", text);
}

uint32_t lmi_ctl_trusted_keys(const struct lmi_ctl *ctl, const char *const **out, const char **one)
{
	uint32_t n = lmi_arg_list(&ctl->args, "trusted-key", out);

	if (n)
		return n;
	*one = getenv(LMI_SIGN_ENV_KEYS);
	*out = one;
	return *one && **one;
}

static enum lmd_status find_mode(struct lmi_ctl *ctl, enum lmi_sign_mode *mode,
				 struct lmd_error *err)
{
	struct lmd_error why;

	if (lmi_arg_given(&ctl->args, "signatures")) {
		*mode = (enum lmi_sign_mode)lmi_arg_int(&ctl->args, "signatures");
		return LMD_OK;
	}
	if (lmi_sign_env_mode(mode, &why) == LMD_OK)
		return LMD_OK;
	return lmi_ctl_usage(ctl, err, "%s", why.text);
}

enum lmd_status lmi_ctl_set_signatures(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_sign_policy_opts opts = {.warn = on_warning};
	const char *one;
	enum lmd_status st = find_mode(ctl, &opts.mode, err);

	if (st != LMD_OK || opts.mode == LMI_SIGN_OFF)
		return st;
	opts.n_keys = lmi_ctl_trusted_keys(ctl, &opts.keys, &one);
	if (!opts.n_keys)
		return lmi_ctl_usage(ctl, err,
				     "--signatures needs --trusted-key FILE, or " LMI_SIGN_ENV_KEYS);
	return lmi_sign_policy_set(&opts, err);
}
