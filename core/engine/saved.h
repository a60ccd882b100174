/* SPDX-License-Identifier: MIT
 *
 * saved.h - what an engine has computed of a text, outside the engine: the keys, values and states of
 * a prefix in host memory, and as a file.
 *
 * lmi_engine_save copies them out of the prefix cache, lmi_engine_restore back into it; a generation
 * or evaluation finds them there as if they had been computed (`n_cached`). Both are commands: they
 * return at once and end in one event, LMI_ENGINE_EV_MOVED, LMI_ENGINE_EV_FAILED or
 * LMI_ENGINE_EV_CANCELLED. The engine copies a few MiB at a time between its steps.
 *
 * The bytes have the canonical form of backend.h (LMD_POOL_EXPORT): they depend on the model, the
 * types of keys and values, the rows of a page and which device has which layer, but on no backend. */
#ifndef LLAMAD_CORE_ENGINE_SAVED_H
#define LLAMAD_CORE_ENGINE_SAVED_H

#include "core/engine/engine.h"

#define LMI_ENGINE_DIGEST_BYTES 32

/* Rows of a prefix. */
struct lmi_engine_saved {
	uint32_t n_token;
	lmd_token *tokens; /* [n_token] */
	uint64_t n_bytes;
	uint8_t *bytes; /* [n_bytes] the parts as lmi_engine_saved_parts lists them, each for all
			 * devices in turn */
};

/* A page or state within the bytes of saved rows. */
struct lmi_engine_saved_part {
	uint32_t group;
	uint32_t index; /* of the page; of a state: of the page with the last token */
	bool is_state;
	uint64_t at, n_bytes;
};
/* Lists the parts of n tokens in out, which may be NULL, and returns their number: groups ascending, in
 * each of them pages ascending. 0: the model has no prefix cache, or n exceeds the context. Any thread. */
uint32_t lmi_engine_saved_parts(const struct lmi_engine *e, uint32_t n,
				struct lmi_engine_saved_part *out);

/* How an engine lays rows out. What was saved can be restored by engines of the same model whose
 * digest is the same. */
struct lmi_engine_saved_layout {
	uint32_t page_tokens;
	uint32_t k_dtype, v_dtype; /* enum lmd_dtype of caches without a type of their own */
	uint8_t digest[LMI_ENGINE_DIGEST_BYTES]; /* of these, all groups and caches and their devices,
						  * and how the engine computes */
};
/* LMD_UNSUPPORTED: the model has no prefix cache. Any thread. */
enum lmd_status lmi_engine_saved_layout(const struct lmi_engine *e,
					struct lmi_engine_saved_layout *out, struct lmd_error *err);
/* Returns the bytes of the rows of n tokens, without the tokens; 0: the model has no prefix cache.
 * Any thread. */
uint64_t lmi_engine_saved_bytes(const struct lmi_engine *e, uint32_t n);

/* Are the rows of this engine, or some of them, in memory that the host cannot use? Any thread. */
bool lmi_engine_rows_on_device(const struct lmi_engine *e);

/* Allocates it with room for n tokens and their bytes. Returns NULL if out of memory. */
struct lmi_engine_saved *lmi_engine_saved_create(uint32_t n_token, uint64_t n_bytes);
void lmi_engine_saved_destroy(struct lmi_engine_saved *s);

struct lmi_engine_save {
	uint64_t id; /* unique among the unfinished commands of the engine */
	const lmd_token *tokens; /* [n_tokens]; as many of them are saved as are in memory */
	uint32_t n_tokens;
	uint64_t tenant;
	int32_t adapter;     /* slot, 0 = none */
	uint64_t max_bytes; /* LMD_INVALID if n_tokens may take more */
	bool whole_pages;   /* only a prefix that ends with a page */
	uint32_t n_skip;    /* tokens: the pages that end within them are zeros in the result */
};
/* The event has what was saved: the longest prefix of the tokens that a sequence could start with. It
 * fails with LMD_NOTFOUND if there is none. Any thread; errors as for lmi_engine_generate. */
enum lmd_status lmi_engine_save(struct lmi_engine *e, const struct lmi_engine_save *cmd,
				struct lmd_error *err);

/* How many of the tokens a sequence could start with now: the event has n_token, which may be 0, and
 * saves nothing. max_bytes is not used. */
enum lmd_status lmi_engine_find(struct lmi_engine *e, const struct lmi_engine_save *cmd,
				struct lmd_error *err);

struct lmi_engine_restore {
	uint64_t id;
	uint64_t tenant;
	int32_t adapter;
	uint32_t n_skip; /* tokens: the pages that end within them are taken from memory */
};
/* Copies rows into the prefix cache, where they take the place of what was used longest ago. What is
 * there already stays. It fails with LMD_BUSY if memory is short, and with LMD_NOTFOUND if
 * a page that is taken from memory is not there. Takes own_saved, on success and
 * failure alike. Any thread. */
enum lmd_status lmi_engine_restore(struct lmi_engine *e, const struct lmi_engine_restore *cmd,
				   struct lmi_engine_saved *own_saved, struct lmd_error *err);

#endif /* LLAMAD_CORE_ENGINE_SAVED_H */
