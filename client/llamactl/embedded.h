/* SPDX-License-Identifier: MIT
 *
 * embedded.h - the engine inside of llamactl: options that all commands which run a model
 * share, and what reads them. */
#ifndef LLAMAD_LLAMACTL_EMBEDDED_H
#define LLAMAD_LLAMACTL_EMBEDDED_H

#include "client/llamactl/ctl.h"
#include "core/engine/engine.h"

/* Rows of an option table. */
#define LMI_OPT_BACKEND                                                                            \
	{                                                                                          \
		.name = "backend", .type = LMI_OPT_STR, .value = "NAME", .def = "auto",            \
		.doc = "What computes: the name of a backend, or auto for the best there is."      \
	}
#define LMI_OPT_THREADS                                                                            \
	{                                                                                          \
		.name = "threads", .letter = 't', .type = LMI_OPT_INT, .value = "N", .min = 1,     \
		.max = 1024, .doc = "Threads to compute with; without it one for each processor."  \
	}
#define LMI_OPT_CTX                                                                                \
	{.name = "ctx",                                                                            \
	 .letter = 'c',                                                                            \
	 .type = LMI_OPT_SIZE,                                                                     \
	 .value = "N",                                                                             \
	 .min = 1,                                                                                 \
	 .max = 1 << 30,                                                                           \
	 .doc = "Context length in tokens; without it what the model was made for, or what"        \
		" memory holds."},                                                                 \
	{                                                                                          \
		.name = "ctx-size", .type = LMI_OPT_SIZE, .value = "N", .min = 1, .max = 1 << 30   \
	}
#define LMI_OPT_KV_TYPE                                                                            \
	{                                                                                          \
		.name = "kv-type", .type = LMI_OPT_STR, .value = "TYPE",                           \
		.doc = "Type of stored keys and values, as f32, f16, q8_0; without it what the "   \
		       "backend likes."                                                            \
	}
#define LMI_OPT_ACTIVATIONS                                                                        \
	{                                                                                          \
		.name = "activations", .type = LMI_OPT_CHOICE, .value = "default|f32|int8",        \
		.def = "default",                                                                  \
		.doc = "Arithmetic in front of quantised weights: float throughout, rounded to 8 " \
		       "bits, or as the backend does it."                                          \
	}
#define LMI_OPT_ATTENTION                                                                          \
	{                                                                                          \
		.name = "attention", .type = LMI_OPT_CHOICE, .value = "default|half",              \
		.def = "default",                                                                  \
		.doc = "Arithmetic of attention: the backend's own, or every sum in half "         \
		       "precision, to compare with kernels that compute so."                       \
	}
#define LMI_OPTS_ADAPTERS                                                                          \
	{.name = "lora",                                                                           \
	 .type = LMI_OPT_LIST,                                                                     \
	 .value = "FILE[:SCALE]",                                                                  \
	 .doc = "Add a low-rank adapter to the model: a GGUF file, or a folder of PEFT.  SCALE "   \
		"times its own; may be repeated."},                                                \
	{                                                                                          \
		.name = "control-vector", .type = LMI_OPT_LIST, .value = "FILE[:SCALE]",           \
		.doc = "Add a control vector (GGUF) behind the layers; may be repeated."           \
	}
#define LMI_OPTS_FILE                                                                              \
	{.name = "mlock",                                                                          \
	 .type = LMI_OPT_FLAG,                                                                     \
	 .doc = "Keep the model's files in memory; goes on without it when the system refuses."},  \
		{.name = "no-mmap",                                                                \
		 .type = LMI_OPT_FLAG,                                                             \
		 .doc = "Read the files into memory of the program's own, in huge pages where "    \
			"the system gives them, instead of mapping them."},                        \
	{                                                                                          \
		.name = "direct-io", .type = LMI_OPT_FLAG,                                         \
		.doc = "The same, past the page cache where the file system can."                  \
	}
#define LMI_OPTS_ENGINE                                                                            \
	LMI_OPT_BACKEND, LMI_OPT_THREADS, LMI_OPT_CTX, LMI_OPT_KV_TYPE, LMI_OPT_ACTIVATIONS,       \
		LMI_OPT_ATTENTION, LMI_OPTS_FILE, LMI_OPTS_ADAPTERS

/* What those options and the file say, for the engine to be opened, with a bar for whoever waits
 * long; numbers that the command wants otherwise are changed by it before.  The list of adapters
 * belongs to ctl. */
enum lmd_status lmi_embedded_opts(struct lmi_ctl *ctl, const char *path,
				  struct lmi_engine_opts *out, struct lmd_error *err);

/* "FILE" or "FILE:SCALE": what follows the last colon, if it is a number.  out->path is on the
 * heap (lmi_free); `what` begins a refusal. */
enum lmd_status lmi_adapter_arg(const char *what, const char *text, struct lmi_adapter_ref *out,
				struct lmd_error *err);

/* "1,2,3" as token ids; *out is on the heap (lmi_free).  `what` begins a refusal, which
 * names the entry. */
enum lmd_status lmi_parse_ids(const char *what, const char *text, lmd_token **out, uint32_t *n,
			      struct lmd_error *err);

/* Puts the file's path before a sentence that does not name it; returns st. */
enum lmd_status lmi_name_file(enum lmd_status st, const char *path, struct lmd_error *err);

/* Takes events of one command until its final one: calls `take` for all others, which may be
 * NULL.  The final event's failure, LMD_CANCELLED, or what take returned. */
typedef enum lmd_status (*lmi_take_fn)(void *arg, struct lmi_event *ev, struct lmd_error *err);
enum lmd_status lmi_embedded_drain(struct lmi_engine *e, uint64_t id, lmi_take_fn take, void *arg,
				   struct lmi_event *last, struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_EMBEDDED_H */
