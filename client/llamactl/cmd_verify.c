/* SPDX-License-Identifier: MIT
 *
 * llamactl verify: checks a model against its signed manifest. */
#include <inttypes.h>
#include <stdio.h>

#include "client/llamactl/interrupt.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/progress.h"
#include "client/llamactl/signatures.h"
#include "core/base/alloc.h"

static bool on_progress(void *arg, uint64_t done, uint64_t total)
{
	lmi_ctl_progress_show(arg, "verify", done, total);
	return !lmi_ctl_interrupted();
}

static enum lmd_status read_keys(struct lmi_ctl *ctl, struct lmi_sign_public **keys, uint32_t *n,
				 struct lmd_error *err)
{
	const char *const *paths;
	const char *one;
	uint32_t n_paths = lmi_arg_list(&ctl->args, "key", &paths);

	if (!n_paths)
		n_paths = lmi_ctl_trusted_keys(ctl, &paths, &one);
	if (!n_paths)
		return lmi_ctl_usage(ctl, err, "give the public key of the author: --key FILE");
	return lmi_sign_keys_read(keys, n, paths, n_paths, err);
}

static void print_json(const struct lmi_sign_result *r, const char *path,
		       const struct lmd_error *err)
{
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	lmi_ctl_json_str(&j, "path", path);
	lmi_ctl_json_str(&j, "state", lmi_sign_state_word(r->state));
	lmi_ctl_json_str(&j, "manifest", r->manifest);
	lmi_ctl_json_str(&j, "key", r->key_id);
	lmi_ctl_json_uint(&j, "files", r->n_files);
	lmi_ctl_json_uint(&j, "bytes", r->bytes);
	lmi_ctl_json_str(&j, "error", err->text);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const char *path = lmi_arg_pos(&ctl->args, 0);
	const struct lmi_sign_subject subject = {.path = path};
	struct lmi_sign_public *keys = NULL;
	struct lmi_sign_result r = {0};
	struct lmi_ctl_progress bar;
	const struct lmi_sign_work work = {.progress = on_progress, .arg = &bar};
	uint32_t n = 0;
	enum lmd_status st = read_keys(ctl, &keys, &n, err);

	if (st != LMD_OK)
		return st;
	lmi_ctl_interrupt_install();
	lmi_ctl_progress_init(&bar);
	st = lmi_sign_verify(&r, &subject, keys, n, &work, err);
	lmi_ctl_progress_end(&bar);
	if (lmi_arg_flag(&ctl->args, "json"))
		print_json(&r, path, err);
	else if (st == LMD_OK)
		printf("%s: %" PRIu32 " file%s, %" PRIu64 " bytes, signed with the key %s\n",
		       path, r.n_files, r.n_files == 1 ? "" : "s", r.bytes, r.key_id);
	lmi_sign_result_fini(&r);
	lmi_free(keys);
	return st;
}

static const struct lmi_opt opts[] = {
	{.name = "key",
	 .type = LMI_OPT_LIST,
	 .value = "PUB",
	 .def_text = "--trusted-key",
	 .doc = "Public key whose signature counts, or a folder of files NAME.pub; may be repeated."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_verify = {
	.name = "verify",
	.args = "FILE",
	.brief = "Check a model against its signed manifest",
	.doc = "Checks the signature of the manifest beside a file (FILE.sig) or in a folder (model.sig), "
	       "and then the SHA-256 of every part of every file. The exit status is 0 if all of it is "
	       "what the owner of a given key has signed, 1 if not, 2 for a wrong command line.\n\nWith "
	       "--json: an object with path, state (valid, none, unknown-key, bad-manifest, changed, or "
	       "unknown if the check did not end), manifest, key (its id), files, bytes and error.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
