/* SPDX-License-Identifier: MIT
 *
 * preset_rows.h - presets that are rows of the registry: names that op create made from a Modelfile.
 * Those of the configuration (preset.h) take precedence.
 *
 * The list belongs to the loop's thread; a row may be created and read from the store on any
 * thread. */
#ifndef LLAMAD_SERVICE_PRESET_ROWS_H
#define LLAMAD_SERVICE_PRESET_ROWS_H

#include "service/preset.h"
#include "store/modelfile.h"
#include "store/store.h"

struct lmi_svc_preset_row {
	struct lmi_svc_preset_row *next;
	struct lmi_svc_preset preset; /* its texts are those of `file` */
	struct lmi_store_modelfile file;
	bool has_n;
	int64_t n; /* maximum length of an answer; -1: until the context is full */
	uint32_t n_stop;
	struct lmd_str *stop; /* [n_stop] */
	char *text;	      /* the Modelfile */
	char name[LMI_STORE_NAME_MAX + 1];
};

/* Parses a Modelfile of n bytes and checks its parameters. LMD_INVALID names the line,
 * LMD_UNSUPPORTED what cannot be done. */
LMD_NODISCARD enum lmd_status lmi_svc_preset_row_create(struct lmi_svc_preset_row **out,
							const char *name, const char *text,
							size_t n, struct lmd_error *err);
void lmi_svc_preset_rows_destroy(struct lmi_svc_preset_row *list); /* NULL allowed */

/* Reads all rows of the service's store. One that this build does not understand is left out and
 * logged. Any thread. */
LMD_NODISCARD enum lmd_status lmi_svc_preset_rows_read(struct lmi_svc_preset_row **out,
						       const struct lmi_service *svc,
						       struct lmd_error *err);

/* Adds a row, or replaces that of the same name. */
void lmi_svc_preset_rows_put(struct lmi_service *svc, struct lmi_svc_preset_row *own_row);
/* Replaces all rows. */
void lmi_svc_preset_rows_replace(struct lmi_service *svc, struct lmi_svc_preset_row *own_list);

/* Returns the row of a name, or NULL. */
const struct lmi_svc_preset_row *lmi_svc_preset_row_find(const struct lmi_service *svc,
							 const char *name, size_t n);

/* Sets what a request has not: length (-1 counts as none), stop sequences and, for a conversation, the messages that
 * precede its own. The memory is that of the arena. */
enum lmd_status lmi_svc_preset_row_apply(const struct lmi_svc_preset_row *row, bool is_chat,
					 struct lmi_wire_req_generate *q, struct lmd_arena *arena,
					 struct lmd_error *err);

#endif /* LLAMAD_SERVICE_PRESET_ROWS_H */
