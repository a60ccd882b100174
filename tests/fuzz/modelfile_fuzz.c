/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a Modelfile, also one that is made from a preset in TOML. One that is accepted names a
 * model and keeps the bounds of the protocol; otherwise there must be an error message. */
#include <string.h>

#include "core/base/alloc.h"
#include "llamad/attr.h"
#include "proto/proto.h"
#include "service/preset_rows.h"
#include "store/preset_toml.h"
#include "tests/fuzz/target.h"

static void parse(const char *text, size_t size)
{
	struct lmi_svc_preset_row *row;
	struct lmd_error err = {0};
	enum lmd_status st = lmi_svc_preset_row_create(&row, "name", text, size, &err);

	REQUIRE(st == LMD_OK || *err.text);
	if (st != LMD_OK)
		return;
	REQUIRE(*row->file.from);
	REQUIRE(row->file.from_at.at + row->file.from_at.n <= size);
	REQUIRE(row->n_stop <= LMI_WIRE_LIMIT_STOPS);
	REQUIRE(row->n >= -1 && row->n <= LMI_WIRE_LIMIT_OUTPUT_MAX);
	for (uint32_t i = 0; i < row->n_stop; i++)
		REQUIRE(row->stop[i].len && row->stop[i].len <= LMI_WIRE_LIMIT_STOP_BYTES);
	lmi_svc_preset_rows_destroy(row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lmd_error err = {0};
	char *text = NULL;
	enum lmd_status st = lmi_store_preset_toml(&text, (const char *)data, size, &err);

	REQUIRE((st == LMD_OK) == (text != NULL) && (st == LMD_OK || *err.text));
	if (text)
		parse(text, strlen(text));
	else
		parse((const char *)data, size);
	lmi_free(text);
	return 0;
}

static const char *const seeds[] = {
	"FROM smollm2:135m\nPARAMETER temperature 0.2\nPARAMETER stop \"User: \"\nPARAMETER stop <end>\n",
	"from \"a\"\r\n# comment\nSYSTEM \"\"\"one\ntwo\"\"\"\nTEMPLATE chatml\nLICENSE MIT\n",
	"FROM a\nMESSAGE user hi\nMESSAGE assistant \"\"\"ho\"\"\"\nPARAMETER num_predict -2\nREQUIRES 1\n",
	"base = 'a'\nsystem = \"\"\"\nx \\\n y\\u00fc\"\"\"\n[parameters]\ntop_k = 7\nstop = ['a', \"b\"]\n"
	"[[messages]]\nrole = \"user\"\ncontent = 'hi'\n",
	"FROM a\nTEMPLATE {{ .Prompt }}\nPARAMETER top_k 7\nPARAMETER num_ctx 4096\nADAPTER ./x\n",
};

bool fuzz_seed(size_t k, struct fuzz_bytes *out)
{
	if (k >= LMD_LEN(seeds))
		return false;
	out->n = strlen(seeds[k]);
	out->p = (uint8_t *)strdup(seeds[k]);
	return out->p != NULL;
}
