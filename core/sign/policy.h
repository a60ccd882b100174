/* SPDX-License-Identifier: MIT
 *
 * policy.h - whether models must be signed, and by whom.
 *
 * A process has one policy, so that no way of opening a model can miss it.  What opens model files
 * (core/checkpoint) begins a scope first: the scope checks the whole model against its manifest,
 * and until it ends the calling thread can only open files of the manifest that are still as they
 * were checked (the guard of core/base/file.h); with warn, others cause a warning.
 *
 *                    off       warn                   require
 *     valid          opened    opened                 opened
 *     none           opened    opened with a warning  LMD_DENIED
 *     unknown-key    opened    opened with a warning  LMD_DENIED
 *     bad-manifest   opened    opened with a warning  LMD_CORRUPT
 *     changed        opened    opened with a warning  LMD_CORRUPT
 *
 * With off, no manifest is looked for. */
#ifndef LLAMAD_CORE_SIGN_POLICY_H
#define LLAMAD_CORE_SIGN_POLICY_H

#include "core/base/file.h"
#include "core/sign/verify.h"

enum lmi_sign_mode { LMI_SIGN_OFF, LMI_SIGN_WARN, LMI_SIGN_REQUIRE };

#define LMI_SIGN_KEYS_MAX 256u

struct lmi_sign_policy_opts {
	enum lmi_sign_mode mode;
	/* Files of public keys, or folders whose files NAME.pub are read. */
	const char *const *keys;
	uint32_t n_keys;
	/* Called with each warning, on the thread that opens a model.  NULL: warnings are dropped.
	 * arg must stay valid until the policy is replaced and all opening has ended. */
	void (*warn)(void *arg, const char *text);
	void *arg;
};

/* Reads the keys and replaces the policy of the process; models that are being opened keep the old
 * one.  LMD_INVALID: no key although the mode is not off, or more than LMI_SIGN_KEYS_MAX; the old
 * policy stays.  Any thread. */
enum lmd_status lmi_sign_policy_set(const struct lmi_sign_policy_opts *o, struct lmd_error *err);

/* The environment variables of programs without a configuration of their own: the word of a mode,
 * and a file or folder of trusted keys. */
#define LMI_SIGN_ENV_MODE "LLAMAD_SIGNATURES"
#define LMI_SIGN_ENV_KEYS "LLAMAD_TRUSTED_KEYS"

/* Returns the mode that the environment names, LMI_SIGN_OFF if it names none; LMD_INVALID for any
 * other word than off, warn and require. */
enum lmd_status lmi_sign_env_mode(enum lmi_sign_mode *out, struct lmd_error *err);
/* Replaces the policy by that of the environment; if it has no mode, the policy stays. */
enum lmd_status lmi_sign_policy_set_env(void (*warn)(void *arg, const char *text), void *arg,
					struct lmd_error *err);

/* Reads public keys as a policy does; the caller frees *out with lmi_free. */
enum lmd_status lmi_sign_keys_read(struct lmi_sign_public **out, uint32_t *n_out,
				   const char *const *paths, uint32_t n, struct lmd_error *err);

struct lmi_sign_policy;

/* The check of one model, on one thread. */
struct lmi_sign_scope {
	struct lmi_file_guard guard; /* first: lmi_file_guard gets a pointer to it */
	struct lmi_file_guard *previous;
	struct lmi_sign_policy *policy; /* NULL: nothing is checked */
	struct lmi_sign_result result;
	bool attached;
};

/* Checks the model as the policy says.  Inside of another scope that restricts the thread it does
 * nothing.  End the scope on the same thread, also after a failure.  Errors as lmi_sign_verify. */
enum lmd_status lmi_sign_scope_begin(struct lmi_sign_scope *scope, const struct lmi_sign_subject *s,
				     const struct lmi_sign_work *work, struct lmd_error *err);
/* The same for a path alone, without progress. */
enum lmd_status lmi_sign_scope_begin_path(struct lmi_sign_scope *scope, const char *path,
					  struct lmd_error *err);
void lmi_sign_scope_end(struct lmi_sign_scope *scope);

#endif /* LLAMAD_CORE_SIGN_POLICY_H */
