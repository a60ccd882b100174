/* SPDX-License-Identifier: MIT
 *
 * preset.h - what the configuration says about single models: system prompt, template, sampling
 * parameters, how they are loaded.
 *
 * A value of the request takes precedence over the preset's, which takes precedence over the value
 * that the model's file recommends.  A preset belongs to a name: that of the request if there is one
 * for it (an alias may have its own), otherwise that of the model. */
#ifndef LLAMAD_SERVICE_PRESET_H
#define LLAMAD_SERVICE_PRESET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/sample.h"
#include "llamad/types.h"

struct lmd_arena;
struct lmi_engine_model_opts;
struct lmi_service;
struct lmi_svc_load;
struct lmi_svc_loaded_model;
struct lmi_wire_rep_info;          /* proto */
struct lmi_wire_req_apply_template; /* proto */
struct lmi_wire_req_generate;      /* proto */

struct lmi_svc_preset {
	const char *name;     /* name or alias of a model */
	const char *system;   /* system prompt for conversations without one; NULL: none */
	const char *template; /* name or text, as in op generate; NULL: the model's own */
	uint32_t n_ctx;       /* context size of one sequence; 0: not set */
	uint32_t n_thread, n_thread_batch; /* 0: not set */
	const char *cpus; /* as lmi_cpu_set_parse reads it; NULL: not set */
	/* names of the types of the KV cache, which exist; NULL: not set */
	const char *kv_type, *kv_type_k, *kv_type_v;
	const char *adapters; /* of the model, as lmi_svc_adapters_parse reads them; NULL: none */
	const char *adapters_dir; /* folder of further adapters of the model; NULL: none */
	const char *adapter;  /* that requests use if they name none; NULL: none */
	const char *adapter_file; /* ADAPTER of a Modelfile, instead of a name; NULL: none */
	bool has_context_shift, context_shift;
	bool has_cache_reuse;
	uint32_t cache_reuse; /* tokens */
	bool has_n_keep;
	int64_t n_keep; /* as in op generate */
	const char *mmproj; /* path of the vision tower's file; NULL: the one beside the model */
	const char *draft_model; /* path of the draft model's file; NULL: none */
	const char *draft_lookup; /* path of a text in which guesses are looked up; NULL: none */
	bool has_draft_lookahead, draft_lookahead;
	int isolation; /* enum lmi_svc_isolation */
	bool has_keep_alive;
	int64_t keep_alive_ms; /* -1: never unloaded */
	bool has_preload, preload; /* by lmi_service_preload */
	const char *group; /* of models of which one is in memory; NULL: none */
	struct lmi_sampler_scalars sampling;
};

/* Returns the preset of a name, or NULL. */
const struct lmi_svc_preset *lmi_svc_preset_find(const struct lmi_service *svc, const char *name,
						 size_t n);
/* Returns the preset for a request that names the model `asked`, or NULL. */
const struct lmi_svc_preset *lmi_svc_preset_of(const struct lmi_svc_loaded_model *r,
					       const struct lmd_str *asked);

/* Fills in the options of a load that are not set, neither there nor in `given` (NULL: nothing is). */
void lmi_svc_preset_set_load(const struct lmi_svc_preset *p, const struct lmi_engine_model_opts *given,
			     struct lmi_svc_load *load);

/* Determines the sampling parameters of a request that has none. */
void lmi_svc_preset_sampling(const struct lmi_svc_loaded_model *r, const struct lmd_str *asked,
			     struct lmi_sampler_params *out);
/* Adds the system prompt and the template to a request that lacks them.  The memory is that of the
 * arena. */
enum lmd_status lmi_svc_preset_apply(const struct lmi_svc_loaded_model *r,
				     struct lmi_wire_req_generate *q, struct lmd_arena *arena,
				     struct lmd_error *err);
enum lmd_status lmi_svc_preset_apply_template(const struct lmi_svc_loaded_model *r,
					      struct lmi_wire_req_apply_template *q,
					      struct lmd_arena *arena, struct lmd_error *err);

/* Fills in the defaults of a model without presets, for op info. */
enum lmd_status lmi_svc_preset_describe(struct lmd_arena *arena, const struct lmd_model *m,
					struct lmi_wire_rep_info *out);
/* Replaces them by the values of the preset; NULL: none. */
void lmi_svc_preset_describe_own(const struct lmi_svc_preset *p, struct lmi_wire_rep_info *out);

#endif /* LLAMAD_SERVICE_PRESET_H */
