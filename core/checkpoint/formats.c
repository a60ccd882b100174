/* SPDX-License-Identifier: MIT
 *
 * The built-in formats behind the interface of plugins.  Their readers fill the model themselves,
 * with checks of their own. */
#include "core/checkpoint/formats.h"

#include <string.h>

#include "core/base/printable.h"
#include "core/checkpoint/hf/checkpoint.h"
#include "core/format/gguf/gguf.h"
#include "core/format/model_builder.h"
#include "core/format/safetensors/safetensors.h"
#include "llamad/format.h"
#include "llamad/version.h"

#define CONFIG	      "config.json"
#define ST_HEAD_BYTES 16u

static int gguf_probe(const struct lmd_host *host, const struct lmd_format_probe *p)
{
	(void)host;
	return p->head_bytes >= 4 && !memcmp(p->head, "GGUF", 4) ? LMD_FORMAT_SURE : LMD_FORMAT_NO;
}

static enum lmd_status gguf_open(void *state, const struct lmd_model_builder *b,
				 struct lmd_error *err)
{
	uint64_t bytes = b->file_bytes(b->ctx, 0);
	struct lmi_model *m;
	struct lmi_file file;
	uint32_t flags;
	char show[112];

	(void)state;
	if (bytes < LMI_FORMATS_MIN_BYTES)
		return lmd_fail(err, LMD_CORRUPT,
				"%s: %llu bytes, but a model file has at least %u",
				lmi_printable_path(show, sizeof(show), b->path),
				(unsigned long long)bytes, LMI_FORMATS_MIN_BYTES);
	m = lmi_model_builder_fill(b, &flags, &file);
	return lmi_gguf_open(m, b->path, &file, flags, err);
}

/* A folder, its config.json, or one of its safetensors files.  A folder without config.json gets
 * the lowest result that is not 0, so that an error message says what is missing. */
static int checkpoint_probe(const struct lmd_host *host, const struct lmd_format_probe *p)
{
	(void)host;
	if (p->is_folder)
		return p->has_file(p, CONFIG) ? LMD_FORMAT_LIKELY : 1;
	if (!strcmp(p->name, CONFIG) ||
	    (p->head_bytes >= ST_HEAD_BYTES && lmi_st_sniff(p->head)))
		return LMD_FORMAT_LIKELY;
	return LMD_FORMAT_NO;
}

static enum lmd_status checkpoint_open(void *state, const struct lmd_model_builder *b,
				       struct lmd_error *err)
{
	struct lmi_file file;
	uint32_t flags;
	struct lmi_model *m = lmi_model_builder_fill(b, &flags, &file);

	(void)state;
	lmi_file_close(&file);
	return lmi_checkpoint_open_model(m, b->path, flags, err);
}

static const struct lmd_format_ops gguf_ops = {
	.struct_size = sizeof(struct lmd_format_ops),
	.probe = gguf_probe,
	.open = gguf_open,
};

static const struct lmd_format_ops checkpoint_ops = {
	.struct_size = sizeof(struct lmd_format_ops),
	.probe = checkpoint_probe,
	.open = checkpoint_open,
};

static const struct lmd_factory factories[] = {
	{
		.struct_size = sizeof(struct lmd_factory),
		.kind = LMD_KIND_FORMAT,
		.name = "gguf",
		.ops = &gguf_ops,
	},
	{
		.struct_size = sizeof(struct lmd_factory),
		.kind = LMD_KIND_FORMAT,
		.name = "safetensors",
		.ops = &checkpoint_ops,
	},
};

const struct lmd_plugin lmi_formats_builtin = {
	.magic = LMD_PLUGIN_MAGIC,
	.abi_major = LMD_ABI_MAJOR,
	.abi_minor = LMD_ABI_MINOR,
	.struct_size = sizeof(struct lmd_plugin),
	.n_factories = LMD_LEN(factories),
	.name = "format-builtin",
	.version = LMD_VERSION,
	.license = "MIT",
	.factories = factories,
};
