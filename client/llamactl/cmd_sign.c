/* SPDX-License-Identifier: MIT
 *
 * llamactl sign: makes a key, or signs a model with one. */
#include <inttypes.h>
#include <stdio.h>

#include "client/llamactl/ctl.h"
#include "client/llamactl/interrupt.h"
#include "client/llamactl/json_out.h"
#include "client/llamactl/progress.h"
#include "core/sign/verify.h"

static bool on_progress(void *arg, uint64_t done, uint64_t total)
{
	lmi_ctl_progress_show(arg, "sign", done, total);
	return !lmi_ctl_interrupted();
}

static enum lmd_status new_key(const char *name, bool json, struct lmd_error *err)
{
	struct lmi_sign_public key;
	struct lmi_ctl_json j;
	char path[LMI_SIGN_PATH_MAX];
	enum lmd_status st = lmi_sign_key_create(&key, name, err);

	if (st != LMD_OK)
		return st;
	if (!json) {
		printf("%s.key  private key: keep it secret, and keep a copy\n"
		       "%s.pub  public key %s: for trusted_keys of those who trust you\n",
		       name, name, key.id);
		return LMD_OK;
	}
	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_object(&j, NULL);
	(void)snprintf(path, sizeof(path), "%s.key", name);
	lmi_ctl_json_str(&j, "private_key", path);
	(void)snprintf(path, sizeof(path), "%s.pub", name);
	lmi_ctl_json_str(&j, "public_key", path);
	lmi_ctl_json_str(&j, "key", key.id);
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
	return LMD_OK;
}

static enum lmd_status sign(struct lmi_ctl *ctl, const char *path, const char *key_file, bool json,
			    struct lmd_error *err)
{
	uint32_t chunk = (uint32_t)lmi_arg_int(&ctl->args, "chunk-size");
	char manifest[LMI_SIGN_PATH_MAX];
	struct lmi_ctl_progress bar;
	const struct lmi_sign_work work = {.progress = on_progress, .arg = &bar};
	struct lmi_sign_private key;
	struct lmi_ctl_json j;
	enum lmd_status st;

	if (chunk & (chunk - 1))
		return lmi_ctl_usage(ctl, err, "--chunk-size: %" PRIu32 ", must be a power of two",
				     chunk);
	st = lmi_sign_private_read(&key, key_file, err);
	if (st != LMD_OK)
		return st;
	lmi_ctl_interrupt_install();
	lmi_ctl_progress_init(&bar);
	st = lmi_sign_make(manifest, path, &key, chunk, &work, err);
	lmi_ctl_progress_end(&bar);
	if (st == LMD_OK && json) {
		lmi_ctl_json_init(&j, stdout);
		lmi_ctl_json_object(&j, NULL);
		lmi_ctl_json_str(&j, "manifest", manifest);
		lmi_ctl_json_str(&j, "key", key.public_key.id);
		lmi_ctl_json_end(&j);
		lmi_ctl_json_fini(&j);
	} else if (st == LMD_OK) {
		printf("%s: signed with the key %s\n", manifest, key.public_key.id);
	}
	lmi_sign_private_fini(&key);
	return st;
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	const struct lmi_args *a = &ctl->args;
	const char *name = lmi_arg_str(a, "new-key"), *key = lmi_arg_str(a, "key");
	bool json = lmi_arg_flag(a, "json");

	if (name && (a->n_pos || key))
		return lmi_ctl_usage(ctl, err, "--new-key takes neither a file nor --key");
	if (name)
		return new_key(name, json, err);
	if (!a->n_pos || !key)
		return lmi_ctl_usage(ctl, err,
				     "give a model and --key KEY, or --new-key NAME to make a key");
	return sign(ctl, lmi_arg_pos(a, 0), key, json, err);
}

static const struct lmi_opt opts[] = {
	{.name = "key",
	 .type = LMI_OPT_STR,
	 .value = "KEY",
	 .doc = "File with the private key; only its owner may have access."},
	{.name = "new-key",
	 .type = LMI_OPT_STR,
	 .value = "NAME",
	 .doc = "Make a key: NAME.key is private and has mode 0600, NAME.pub is public. "
		"Files that exist are not replaced."},
	{.name = "chunk-size",
	 .type = LMI_OPT_SIZE,
	 .value = "BYTES",
	 .def = "4M",
	 .min = LMI_SIGN_CHUNK_MIN,
	 .max = LMI_SIGN_CHUNK_MAX,
	 .doc = "Bytes that have a digest of their own; a power of two."},
	LMI_OPT_JSON,
};

const struct lmi_cli_cmd lmi_ctl_cmd_sign = {
	.name = "sign",
	.args = "[FILE]",
	.brief = "Sign a model, or make a key for that",
	.doc = "Writes a manifest with the SHA-256 of every part of a model and an Ed25519 signature. It "
	       "stands beside a file as FILE.sig, and in a folder as model.sig; publish it with the "
	       "model. A set of GGUF parts is signed by its first part, adapters as models are. In a "
	       "folder, names that begin with a dot or end in .sig are left out.\n\n"
	       "    llamactl sign --new-key release\n"
	       "    llamactl sign model.gguf --key release.key\n"
	       "    llamactl verify model.gguf --key release.pub\n\n"
	       "With --json: an object with manifest and key (its id), or with --new-key the paths "
	       "private_key and public_key, and key.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
