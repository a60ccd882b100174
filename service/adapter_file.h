/* SPDX-License-Identifier: MIT
 *
 * adapter_file.h - adapters that are loaded when a request first asks for them (wanted_adapters.h): the
 * ADAPTER of a name that op create made, and the files of a model's adapters_dir. */
#ifndef LLAMAD_SERVICE_ADAPTER_FILE_H
#define LLAMAD_SERVICE_ADAPTER_FILE_H

#include <stdbool.h>

#include "store/store.h"

struct lmi_service;
struct lmi_wire_req_generate; /* proto */

struct lmi_svc_adapter_file {
	char name[LMI_STORE_NAME_MAX + 1];
	char path[LMI_STORE_PATH_MAX + 1];
};

/* Finds the file of the adapter that a request for the model `model` asks for: NAME.gguf or the folder
 * NAME in adapters_dir for the adapter NAME. Returns false if it asks for none, for one that is loaded
 * with the model, or for one that does not exist. The loop's thread. */
bool lmi_svc_adapter_file_find(struct lmi_svc_adapter_file *out, const struct lmi_service *svc,
			       const char *model, const struct lmi_wire_req_generate *q);

#endif /* LLAMAD_SERVICE_ADAPTER_FILE_H */
