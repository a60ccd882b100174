/* SPDX-License-Identifier: MIT
 *
 * embedded.h - the engine inside of llamactl: the options of all commands that run a model, and
 * the functions that read them. */
#ifndef LLAMAD_LLAMACTL_EMBEDDED_H
#define LLAMAD_LLAMACTL_EMBEDDED_H

#include <limits.h>

#include "client/llamactl/ctl.h"
#include "core/base/default_state.h"
#include "core/engine/engine.h"
#include "core/quant/quant.h"

struct lmi_embedded_name;

/* Rows of an option table. */
#define LMI_CTL_OPT_BACKEND                                                                        \
	{                                                                                          \
		.name = "backend", .type = LMI_OPT_STR, .value = "NAME", .def = "auto",            \
		.doc = "Backend to compute with; auto selects the best one available."             \
	}
#define LMI_CTL_OPTS_DEVICE_LAYERS                                                                     \
	{.name = "device",                                                                         \
	 .type = LMI_OPT_STR,                                                                      \
	 .value = "LIST",                                                                          \
	 .doc = "Devices to compute on, such as cuda0,cuda1 (see `llamactl devices`). They share " \
		"the layers in this order."},                                                      \
		{.name = "n-gpu-layers",                                                           \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "N|auto|all",                                                            \
		 .def_text = "all",                                                                \
		 .doc = "How many of the last layers run on the devices; the others run on the "   \
			"cpu. auto: as many as fit into their memory. Also -ngl."},                \
	{                                                                                          \
		.name = "ngl", .type = LMI_OPT_STR, .value = "N|auto|all"                          \
	}
#define LMI_CTL_OPTS_DEVICES                                                                       \
	LMI_CTL_OPTS_DEVICE_LAYERS,                                                                \
		{.name = "split",                                                                  \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "X,Y,...|tensor[:N]",                                                    \
		 .def_text = "by free memory",                                                     \
		 .doc = "Shares of the layers for each device, such as 3,1. tensor: every device " \
			"has a part of every layer, in as many parts as devices, or in N parts: "  \
			"then the results do not depend on the number of devices."},               \
		{.name = "isolation",                                                              \
		 .type = LMI_OPT_CHOICE,                                                           \
		 .value = "auto|off|process",                                                      \
		 .def = "auto",                                                                    \
		 .doc = "process: run the backend in a process of its own, so that a crash of its " \
			"plugin ends the model's requests and nothing else. auto: if its file is in a " \
			"folder of --plugin-dir and root does not own it."},                                                \
	{                                                                                          \
		.name = "override-tensor", .type = LMI_OPT_STR, .value = "REGEX=DEVICE,...",       \
		.doc = "Run the operations whose weights match an extended regular expression on " \
		       "that device."                                                              \
	}
#define LMI_CTL_OPTS_THREADS                                                                       \
	{.name = "threads",                                                                        \
	 .letter = 't',                                                                            \
	 .type = LMI_OPT_INT,                                                                      \
	 .value = "N",                                                                             \
	 .min = 1,                                                                                 \
	 .max = 1024,                                                                              \
	 .def_text = "one per processor",                                                          \
	 .doc = "Number of compute threads."},                                                     \
		{.name = "threads-batch",                                                          \
		 .type = LMI_OPT_INT,                                                              \
		 .value = "N",                                                                     \
		 .min = 1,                                                                         \
		 .max = 1024,                                                                      \
		 .def_text = "as --threads",                                                       \
		 .doc = "Number of compute threads for steps of more than 16 tokens, such as "     \
			"prompts. Also -tb."},                                                     \
		{.name = "cpus",                                                                   \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "LIST|MASK",                                                             \
		 .def_text = "all",                                                                \
		 .doc = "Processors that these threads run on, such as 0-7,16 or 0xff."},          \
		{.name = "cpu-strict",                                                             \
		 .type = LMI_OPT_CHOICE,                                                           \
		 .value = "off|on",                                                                \
		 .def = "off",                                                                     \
		 .doc = "on: each thread stays on one of these processors."},                      \
		{.name = "numa",                                                                   \
		 .type = LMI_OPT_CHOICE,                                                           \
		 .value = "off|distribute|isolate",                                                \
		 .def = "off",                                                                     \
		 .doc = "On a machine with several NUMA nodes: distribute = the threads are on "   \
			"all nodes in turn; isolate = all of them are on one node."},              \
	{                                                                                          \
		.name = "tb", .type = LMI_OPT_INT, .value = "N", .min = 1, .max = 1024             \
	}
/* default_: what holds without the option, in words */
#define LMI_CTL_OPT_CTX(default_)                                                                  \
	{.name = "ctx",                                                                            \
	 .letter = 'c',                                                                            \
	 .type = LMI_OPT_SIZE,                                                                     \
	 .value = "N",                                                                             \
	 .def_text = default_,                                                                     \
	 .min = 1,                                                                                 \
	 .max = 1 << 30,                                                                           \
	 .doc = "Context length in tokens."},                                                      \
	{                                                                                          \
		.name = "ctx-size", .type = LMI_OPT_SIZE, .value = "N", .min = 1, .max = 1 << 30   \
	}
/* with the spellings of llama.cpp */
#define LMI_CTL_OPTS_KV_TYPE                                                                       \
	{.name = "kv-type",                                                                        \
	 .type = LMI_OPT_STR,                                                                      \
	 .value = "TYPE",                                                                          \
	 .def_text = "the backend's choice",                                                       \
	 .doc = "Type of the KV cache: f32, f16, bf16, q8_0, f8_e4m3, q5_1, q5_0, q4_1, q4_0, "    \
		"iq4_nl or q4_0_rot, as far as the backend has them."},                            \
		{.name = "kv-type-k",                                                              \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "TYPE",                                                                  \
		 .def_text = "that of --kv-type",                                                  \
		 .doc = "Type of the keys in the KV cache. Also --cache-type-k and -ctk."},        \
		{.name = "kv-type-v",                                                              \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "TYPE",                                                                  \
		 .def_text = "that of --kv-type",                                                  \
		 .doc = "Type of the values in the KV cache. Also --cache-type-v and -ctv."},      \
		{.name = "cache-type-k", .type = LMI_OPT_STR, .value = "TYPE"},                    \
		{.name = "cache-type-v", .type = LMI_OPT_STR, .value = "TYPE"},                    \
		{.name = "ctk", .type = LMI_OPT_STR, .value = "TYPE"},                             \
	{                                                                                          \
		.name = "ctv", .type = LMI_OPT_STR, .value = "TYPE"                                \
	}
#define LMI_CTL_OPT_CONFIG                                                                         \
	{                                                                                          \
		.name = "config", .type = LMI_OPT_STR, .value = "FILE",                            \
		.def_text = LMI_DEFAULT_CONFIG_FILE ", if it can be read",                         \
		.doc = "File whose sections [model NAME] apply: sampling parameters, system "      \
		       "prompt, template and so on; see llamad.conf(5). Options take precedence."  \
	}
/* with the spellings of llama.cpp */
#define LMI_CTL_OPTS_DRAFT_MODEL                                                                   \
	{.name = "draft-model",                                                                    \
	 .type = LMI_OPT_STR,                                                                      \
	 .value = "MODEL",                                                                         \
	 .doc = "Speculative decoding: a smaller model with the same vocabulary, which guesses "   \
		"tokens; the answers stay the same. nextn: its own draft layers. Also -md."},      \
		{.name = "model-draft", .type = LMI_OPT_STR, .value = "MODEL"},                    \
		{.name = "mmproj",                                                                 \
		 .type = LMI_OPT_STR,                                                              \
		 .value = "FILE",                                                                  \
		 .doc = "File of the vision tower, which lets the model read pictures (default "   \
			"mmproj*.gguf beside the model)."},                                        \
	{                                                                                          \
		.name = "md", .type = LMI_OPT_STR, .value = "MODEL"                                \
	}
#define LMI_CTL_OPT_ACTIVATIONS                                                                    \
	{                                                                                          \
		.name = "activations", .type = LMI_OPT_CHOICE, .value = "default|f32|int8|int16",  \
		.def = "default",                                                                  \
		.doc = "Arithmetic for quantised weights: f32 keeps the activations in float, "    \
		       "int8 and int16 round them to 8 or 16 bits, default leaves the choice to "  \
		       "the backend."                                                              \
	}
#define LMI_CTL_OPT_ATTENTION                                                                      \
	{                                                                                          \
		.name = "attention", .type = LMI_OPT_CHOICE, .value = "default|half",              \
		.def = "default",                                                                  \
		.doc = "Arithmetic of attention: half keeps every sum in half precision, to "      \
		       "compare with kernels that do so; default leaves the choice to the "        \
		       "backend."                                                                  \
	}
#define LMI_CTL_OPT_DETERMINISTIC                                                                  \
	{                                                                                          \
		.name = "deterministic", .type = LMI_OPT_CHOICE, .value = "off|exact|batch",       \
		.def = "off",                                                                      \
		.doc = "exact: the same bits on every device of backends cpu, cuda and hip, with " \
		       "one arithmetic for all of them, which is slower. Models with tensors or "  \
		       "operations that it does not have are refused. batch: on one device, what " \
		       "else is computed in a step and how a prompt is divided into steps change " \
		       "no bit of the logits; backends cpu and ref compute so in any case, cuda "  \
		       "and hip take longer for prompts."                                          \
	}
#define LMI_CTL_OPTS_ADAPTERS                                                                      \
	{.name = "lora",                                                                           \
	 .type = LMI_OPT_LIST,                                                                     \
	 .value = "FILE[:SCALE]",                                                                  \
	 .doc = "Apply a LoRA adapter: a GGUF file or a PEFT folder. SCALE multiplies the "        \
		"adapter's own scale. May be repeated."},                                          \
	{                                                                                          \
		.name = "control-vector", .type = LMI_OPT_LIST, .value = "FILE[:SCALE]",           \
		.doc = "Apply a control vector (GGUF) to the outputs of the layers; may be "       \
		       "repeated."                                                                 \
	}
#define LMI_CTL_OPTS_FILE                                                                          \
	{.name = "mlock",                                                                          \
	 .type = LMI_OPT_FLAG,                                                                     \
	 .doc = "Lock the model's files in memory; continues without the lock if the system "      \
		"denies it."},                                                                     \
		{.name = "no-mmap",                                                                \
		 .type = LMI_OPT_FLAG,                                                             \
		 .doc = "Read the files into memory (huge pages where the system has them) "       \
			"instead of mapping them."},                                               \
	{                                                                                          \
		.name = "direct-io", .type = LMI_OPT_FLAG,                                         \
		.doc = "Like --no-mmap, but bypass the page cache where the file system allows "   \
		       "it."                                                                       \
	}
#define LMI_CTL_OPTS_ENGINE_CTX(default_)                                                          \
	LMI_CTL_OPT_BACKEND, LMI_CTL_OPTS_DEVICES, LMI_CTL_OPTS_THREADS,                           \
		LMI_CTL_OPT_CTX(default_), LMI_CTL_OPTS_KV_TYPE,                                   \
		LMI_CTL_OPT_ACTIVATIONS, LMI_CTL_OPT_ATTENTION, LMI_CTL_OPT_DETERMINISTIC,         \
		LMI_CTL_OPTS_FILE,                                                                 \
		LMI_CTL_OPTS_ADAPTERS
#define LMI_CTL_OPTS_ENGINE LMI_CTL_OPTS_ENGINE_CTX("the trained length, or what memory allows")

/* Fills *out from these options and the model file; a command changes the members that it needs
 * otherwise before it opens the engine. Shows a progress bar while a large model loads. ctl owns
 * the list of adapters. */
enum lmd_status lmi_ctl_embedded_opts(struct lmi_ctl *ctl, const char *path,
				      struct lmi_engine_opts *out, struct lmd_error *err);

/* Returns the names of types that LMI_CTL_OPTS_KV_TYPE were given; members are NULL if not. */
struct lmi_dtype_cache_names lmi_ctl_kv_types(const struct lmi_args *a);

/* Returns the value of LMI_CTL_OPTS_DRAFT_MODEL; NULL: none was given. */
const char *lmi_ctl_draft_model(const struct lmi_args *a);

/* Adds the draft model and the vision tower of LMI_CTL_OPTS_DRAFT_MODEL to options of lmi_ctl_embedded_opts; the
 * tower also if it lies beside the model, where a load would find it. tower: space for its path. */
void lmi_ctl_add_second_models(const struct lmi_ctl *ctl, struct lmi_engine_opts *o, char tower[PATH_MAX]);

/* Makes ctl's client one of an engine in this process with this model file, which the first request
 * loads. */
enum lmd_status lmi_ctl_open_file(struct lmi_ctl *ctl, const char *path, struct lmd_error *err);
/* Does the same for one conversation at a time, with the presets of LMI_CTL_OPT_CONFIG, and loads the
 * file. */
enum lmd_status lmi_ctl_load_file(struct lmi_ctl *ctl, const char *path, struct lmd_error *err);
/* Does the same for a model that requests name `named->name`; see struct lmi_embedded_opts. */
enum lmd_status lmi_ctl_load_named(struct lmi_ctl *ctl, const struct lmi_embedded_name *named,
				   struct lmd_error *err);

/* Parses "FILE" or "FILE:SCALE"; the scale is the number after the last colon, if it is one.
 * out->path is on the heap (lmi_free). Error messages begin with `what`. */
enum lmd_status lmi_ctl_adapter_arg(const char *what, const char *text,
				    struct lmi_engine_adapter_ref *out, struct lmd_error *err);

/* Parses "1,2,3" as token ids; *out is on the heap (lmi_free). Error messages begin with `what`
 * and name the entry. */
enum lmd_status lmi_ctl_parse_ids(const char *what, const char *text, lmd_token **out, uint32_t *n,
				  struct lmd_error *err);

/* Prefixes the error message with the file's path unless it already names it; returns st. */
enum lmd_status lmi_ctl_name_file(enum lmd_status st, const char *path, struct lmd_error *err);

/* Reads the events of one engine command until the final one and passes all others to `take`,
 * which may be NULL. Returns the status of the final event, LMD_CANCELLED, or the failure of
 * take. */
typedef enum lmd_status (*lmi_ctl_take_fn)(void *arg, struct lmi_engine_event *ev,
					   struct lmd_error *err);
enum lmd_status lmi_ctl_embedded_drain(struct lmi_engine *e, uint64_t id, lmi_ctl_take_fn take,
				       void *arg, struct lmi_engine_event *last,
				       struct lmd_error *err);

#endif /* LLAMAD_LLAMACTL_EMBEDDED_H */
