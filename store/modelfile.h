/* SPDX-License-Identifier: MIT
 *
 * modelfile.h - Modelfiles: the text in which Ollama describes a model that is made from another.
 *
 *     # a comment
 *     FROM smollm2
 *     PARAMETER temperature 0.2
 *     PARAMETER stop "User:"
 *     SYSTEM """You are a pirate.
 *     You answer in one sentence."""
 *     MESSAGE user Who are you?
 *     MESSAGE assistant Arr, a pirate.
 *
 * The commands are FROM, PARAMETER, TEMPLATE, SYSTEM, ADAPTER, LICENSE, MESSAGE, RENDERER, PARSER and
 * REQUIRES, in any case. A value goes to the end of the line, may stand in double quotes, and between
 * three double quotes it may have several lines. It may end in double quotes of its own:
 * """Say "hi"""" is the value `Say "hi"`. */
#ifndef LLAMAD_STORE_MODELFILE_H
#define LLAMAD_STORE_MODELFILE_H

#include <stddef.h>
#include <stdint.h>

#include "llamad/status.h"

#define LMI_STORE_MODELFILE_BYTES    (1u << 20)
#define LMI_STORE_MODELFILE_PARAMS   256u
#define LMI_STORE_MODELFILE_MESSAGES 1024u

struct lmd_arena;

struct lmi_store_modelfile_param {
	const char *name, *value; /* in the file's order; "stop" may occur more than once */
	unsigned line;
};

struct lmi_store_modelfile_message {
	const char *role; /* "system", "user" or "assistant" */
	const char *content;
};

struct lmi_store_modelfile_place {
	size_t at, n; /* bytes */
};

/* Texts that are not in the file are NULL; `from` always is. If TEMPLATE, SYSTEM or LICENSE occurs
 * more than once, the last one counts. */
struct lmi_store_modelfile {
	const char *from, *template, *system, *license, *adapter;
	/* where the values of FROM and ADAPTER stand in the text, with quotes */
	struct lmi_store_modelfile_place from_at, adapter_at;
	uint32_t n_params, n_messages;
	struct lmi_store_modelfile_param *params;
	struct lmi_store_modelfile_message *messages;
	struct lmd_arena *arena;
};

/* Parses a text of n bytes; it need not end with a zero. LMD_INVALID: the message names the line. Any
 * thread. */
LMD_NODISCARD enum lmd_status lmi_store_modelfile_parse(struct lmi_store_modelfile *out,
							const char *text, size_t n,
							struct lmd_error *err);
/* A zeroed struct is allowed. */
void lmi_store_modelfile_fini(struct lmi_store_modelfile *m);

#endif /* LLAMAD_STORE_MODELFILE_H */
