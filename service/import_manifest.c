/* SPDX-License-Identifier: MIT
 *
 * The signed manifest of a model that is copied into the store: it stands beside the first file there as
 * well, under its name. */
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/file.h"
#include "core/sign/verify.h"
#include "service/import_job.h"
#include "service/service_state.h"

enum lmd_status lmi_svc_import_keep_manifest(struct lmi_svc_import *w, const char *path)
{
	const char *to = lmi_arena_printf(w->request.arena, "%s/models/sha256-%s" LMI_SIGN_SUFFIX,
					  lmi_store_dir(w->request.svc->o.store),
					  w->files[0].digest);
	char from[LMI_SIGN_PATH_MAX];
	struct lmi_new_file f;
	char *text = NULL;
	enum lmd_status st;
	size_t n = 0;

	if (!to)
		return lmd_fail(&w->err, LMD_NOMEM, "no memory for a path");
	/* that of a folder lists files that are not copied */
	if (!lmi_sign_find(from, path) || !strcmp(lmi_file_base_name(from), LMI_SIGN_FOLDER_NAME))
		return LMD_OK;
	st = lmi_file_read_all(from, LMI_SIGN_MANIFEST_BYTES, &text, &n, &w->err);
	if (st != LMD_OK)
		return st;
	st = lmi_new_file_open(&f, to, 0600, &w->err);
	if (st == LMD_OK) {
		st = lmi_new_file_write(&f, text, n, &w->err);
		if (st == LMD_OK)
			st = lmi_new_file_commit(&f, &w->err);
		else
			lmi_new_file_abort(&f);
	}
	lmi_free(text);
	return st;
}
