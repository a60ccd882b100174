/* SPDX-License-Identifier: MIT
 *
 * command.h - commands to an engine and the events it reports, as plain values.
 *
 * A command is copied when it is submitted; the engine keeps no pointer into it. Every accepted
 * command ends in exactly one final event: DONE, MOVED, BOUND, FAILED or CANCELLED. */
#ifndef LLAMAD_CORE_ENGINE_COMMAND_H
#define LLAMAD_CORE_ENGINE_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/device_arbiter.h"
#include "core/engine/sample.h"
#include "llamad/plan.h"
#include "llamad/status.h"
#include "llamad/types.h"

struct lmi_engine_constraint;
struct lmi_engine_drafter;
struct lmi_engine_saved;

#define LMI_ENGINE_NO_FORK UINT32_MAX

/* A client can pin one page of so many. */
#define LMI_ENGINE_PIN_PART 4u

/* A picture between the tokens of a sequence. */
struct lmi_engine_picture {
	uint32_t first, n; /* it takes the place of the tokens [first, first + n), whose values do not matter */
	const float *rows; /* [n][width]; NULL: the model's tower computes them from its patches: */
	uint32_t width;
	/* [patches_w * patches_h][3 * patch * patch] in the order that struct lmd_picture describes, before
	 * they are normalised; n as lmi_engine_picture_rows says */
	const uint8_t *patches;
	uint32_t patches_w, patches_h;
	/* Models with multi-part positions (M-RoPE): the rows are a map of so many columns and lines, line
	 * by line; 0: they are numbered like tokens. */
	uint32_t grid_w, grid_h;
	bool both_ways; /* its rows see each other; otherwise each row sees those before it */
	const uint8_t *digest; /* [32] by lmi_engine_picture_digest; NULL: it is computed */
};

/* One sequence: tokens, among which there may be pictures, or rows of numbers in their place. */
struct lmi_engine_input_seq {
	const lmd_token *tokens; /* [n_tokens]; of the decoder for encoder-decoder models */
	uint32_t n_tokens;
	const lmd_token *enc; /* [n_enc] tokens of the encoder */
	uint32_t n_enc;
	const float *rows; /* [n_rows][width], instead of tokens */
	uint32_t n_rows, width;
	const int32_t *pos; /* [n_plane][rows] positions, n_plane 1 or 4; n_plane 0: positions are
			     * row numbers. Evaluations only */
	uint32_t n_plane;
	/* [n_pictures] in order. A generation with pictures ends when its context is full, is not
	 * RESUMABLE, and gets no guesses from a draft model. */
	const struct lmi_engine_picture *pictures;
	uint32_t n_pictures;
	int32_t adapter; /* slot, 0 = none */
	/* The first fork_at tokens equal those of sequence fork_of, an earlier one of the same
	 * command; they are computed once if possible and are not output. LMI_ENGINE_NO_FORK: no
	 * fork. */
	uint32_t fork_of, fork_at;
	uint32_t out_from; /* rows below this one are not output */
};

/* ---- log probabilities ---- */

/* A token and the most likely ones. */
#define LMI_ENGINE_LOGPROBS_MAX 33

struct lmi_engine_logprob {
	lmd_token token;
	float logprob;
};

struct lmi_engine_logprobs {
	uint32_t n;
	/* [n] the token itself, then the most likely ones in descending order, which may contain
	 * it again */
	struct lmi_engine_logprob v[LMI_ENGINE_LOGPROBS_MAX];
};

/* ---- evaluation ---- */

enum lmi_engine_eval_output {
	LMI_ENGINE_WANT_LOGITS = 0, /* logits of every row */
	LMI_ENGINE_WANT_LAST = 1,   /* logits of the last row */
	LMI_ENGINE_WANT_EMBED = 2,  /* by `pooling`: one vector per sequence, or one per row */
	LMI_ENGINE_WANT_NLL =
		3, /* for every row but the last: minus the log probability of the token
			      * that follows; rows of one number */
	/* For every row but the last: the log probabilities of the token that follows and of the
	 * most likely ones, as n_logprobs of struct lmi_engine_eval.  Rows of 2 * n_logprobs
	 * numbers: pairs of a token id and its log probability.  Missing pairs have the id -1. */
	LMI_ENGINE_WANT_LOGPROBS = 4
};

struct lmi_engine_eval {
	uint64_t id; /* unique among the unfinished commands of the engine */
	const struct lmi_engine_input_seq *seqs;
	uint32_t n_seq;
	enum lmi_engine_eval_output want;
	int32_t pooling; /* enum lmd_pooling; LMD_POOL_UNSET: as in the model file */
	uint32_t chunk;	 /* maximum rows of a sequence per step; 0 = no limit */
	uint32_t chunk_from; /* the first row to which that limit applies */
	bool whole;	 /* all rows of a sequence in one step */
	uint32_t n_logprobs; /* WANT_LOGPROBS: 1 to LMI_ENGINE_LOGPROBS_MAX */
	/* WANT_LAST: rows are looked up in the prefix cache and found there later, among those with
	 * the same tenant */
	bool cache;
	uint64_t tenant;
};

/* ---- generation ---- */

#define LMI_ENGINE_GEN_IGNORE_EOG 1u /* end-of-generation tokens do not end it */
#define LMI_ENGINE_GEN_SPECIAL    2u /* output the text of control tokens */
#define LMI_ENGINE_GEN_NO_CACHE	  4u /* compute the whole prompt; nobody finds the rows later */
/* The log probabilities are those of the candidates that the samplers left, instead of the model's
 * own. */
#define LMI_ENGINE_GEN_SAMPLED_PROBS 8u
/* Guess as many tokens as possible, even if that does not seem to help: for tests. */
#define LMI_ENGINE_GEN_DRAFT_ALWAYS 16u
/* The same, with as many branches as possible. */
#define LMI_ENGINE_GEN_DRAFT_BRANCHES 64u
/* fail with LMD_UNSUPPORTED unless another run can go on where this one stops */
#define LMI_ENGINE_GEN_RESUMABLE 32u

/* Maximum number of tokens that are guessed at a time. */
#define LMI_ENGINE_DRAFT_MAX 15
/* Where guesses of the next tokens come from; ANY: from the one that is expected to save more time. */
enum lmi_engine_draft {
	LMI_ENGINE_DRAFT_OFF = 0,
	LMI_ENGINE_DRAFT_LOOKUP = 1, /* the prompt, the answer so far, the prediction, earlier answers of
				      * the tenant and the model's lookup file */
	LMI_ENGINE_DRAFT_MODEL = 2,  /* the engine's draft model, if it has one */
	LMI_ENGINE_DRAFT_ANY = 3
};

struct lmi_engine_generate {
	uint64_t id;
	struct lmi_engine_input_seq seq;
	int64_t n_predict;		      /* maximum number of tokens; < 0: until the context is
					       * full */
	const struct lmi_sampler_spec *specs; /* [n_specs] the sampler chain */
	uint32_t n_specs;
	uint64_t seed;
	const struct lmd_str *stops; /* [n_stops] stop texts; they are not part of the output */
	uint32_t n_stops;
	const lmd_token *shown; /* [n_shown], ascending: control tokens whose text is output as
				 * well */
	uint32_t n_shown;
	const lmd_token *stop_tokens; /* [n_stop_tokens] tokens that end it; they have no text */
	uint32_t n_stop_tokens;
	/* The first n_min tokens are neither stop tokens nor end-of-generation tokens, as far as the
	 * constraint allows others. */
	uint32_t n_min;
	uint32_t flags; /* LMI_ENGINE_GEN_* */
	/* Each token comes with so many log probabilities, its own included; 0: none, at most
	 * LMI_ENGINE_LOGPROBS_MAX.  Forced tokens that are not computed have probability 1. */
	uint32_t n_logprobs;
	/* Speculative decoding: at most n_draft tokens are guessed at a time and computed in one step;
	 * the answer stays the same. At most LMI_ENGINE_DRAFT_MAX are used. */
	enum lmi_engine_draft draft;
	uint32_t n_draft;
	const struct lmi_engine_drafter *drafter; /* draft.h; in place of the others, for tests; NULL */
	const lmd_token *prediction; /* [n_prediction] a text that the answer is expected to resemble */
	uint32_t n_prediction;
	/* A full context does not end the generation: its first n_keep tokens stay (not counting a
	 * BOS token, which always does; -1: the prompt), the next n_discard are dropped (0: half of
	 * the others), and it goes on as if it had begun with what is left. */
	bool shift;
	int64_t n_keep;
	uint32_t n_discard;
	/* Tokens that an earlier run of this generation has taken. It goes on after them: they count
	 * as part of the answer, and no event reports them. Requires LMI_ENGINE_GEN_RESUMABLE. A
	 * constraint must have been created with them as well. */
	const lmd_token *resumed; /* [n_resumed] */
	uint32_t n_resumed;
	uint64_t tenant; /* rows are shared only among generations with the same number */
	uint64_t client; /* clients share the steps; core/sched/fair.h */
	/* For so long after its end the memory of its prompt is the last that others take; 0: no
	 * longer than usual. A client can pin a LMI_ENGINE_PIN_PART of the memory. */
	uint64_t pin_ns;
	/* Passages of the prompt of at least so many tokens that the prefix cache has at other positions
	 * are not computed: their rows are moved, which is an approximation. What comes after the first
	 * of them is not found by others. LMD_UNSUPPORTED, as an event, if the model's rows cannot be moved.
	 * 0: off */
	uint32_t cache_reuse;
	enum lmi_engine_class class;
	/* Constraint on the answer, or NULL; owned by the engine once the command is accepted. The
	 * end of its grammar ends the answer; if no token may follow, the command fails. */
	struct lmi_engine_constraint *constraint;
};

/* ---- events ---- */

enum lmi_engine_event_kind {
	LMI_ENGINE_EV_TOKEN =
		1, /* a token, and the text that has become printable since the last one */
	LMI_ENGINE_EV_TEXT = 2, /* more text without a token */
	LMI_ENGINE_EV_ROWS = 3, /* results of an evaluation */
	LMI_ENGINE_EV_DONE = 4,
	LMI_ENGINE_EV_FAILED = 5,
	LMI_ENGINE_EV_CANCELLED = 6,
	LMI_ENGINE_EV_LOGPROBS = 7, /* log probabilities of the token of the next event */
	LMI_ENGINE_EV_MOVED = 8,    /* rows were saved or restored (saved.h) */
	LMI_ENGINE_EV_BOUND = 9	    /* an adapter was put into a slot (adapter_bind.h) */
};

enum lmi_engine_finish {
	LMI_ENGINE_FINISH_NONE = 0,   /* an evaluation */
	LMI_ENGINE_FINISH_EOG = 1,    /* the model ended it */
	LMI_ENGINE_FINISH_STOP = 2,   /* a stop text matched */
	LMI_ENGINE_FINISH_LENGTH = 3, /* n_predict tokens were generated */
	LMI_ENGINE_FINISH_CONTEXT = 4 /* the context is full */
};

#define LMI_ENGINE_EVENT_TEXT 256

struct lmi_engine_event {
	uint64_t id;
	uint32_t kind; /* enum lmi_engine_event_kind */
	union {
		struct {
			lmd_token token;
			uint32_t n;		    /* bytes of text; may be 0 */
			char bytes
				[LMI_ENGINE_EVENT_TEXT]; /* whole UTF-8 characters as far as the tokens
						     * form them; no terminating zero */
		} text;
		struct lmi_engine_logprobs logprobs; /* LOGPROBS */
		struct {
			uint32_t seq;		  /* index in the command */
			uint32_t first, n, width; /* rows [first, first + n) of the sequence; a
						   * pooled vector is row 0 */
			float *v;                 /* [n][width]; the receiver must free it with
						   * lmi_engine_event_release */
		} rows;
		struct {
			enum lmi_engine_finish finish;
			uint32_t n_prompt, n_out; /* tokens read and generated */
			uint32_t n_cached; /* how many of n_prompt were in memory already */
			/* the first token that the prefix cache did not know; n_prompt: it knew all */
			uint32_t broke_at;
			uint32_t n_pinned; /* how many of n_prompt are pinned */
			uint32_t n_forced; /* how many of n_out had no step of their own, because no
					    * other token was possible: constrain.h */
			/* tokens that were guessed and computed; how many of them were right */
			uint32_t n_drafted, n_accepted;
			uint32_t n_shift; /* how often the context was full and was shifted */
			uint64_t prompt_ns;	  /* from its first step to its first token */
			uint64_t out_ns;	  /* from its first token to its end */
		} done;			/* DONE; also CANCELLED for a generation, without finish */
		struct {
			uint32_t n_token;
			uint64_t n_bytes;
			uint64_t n_copied; /* how many of n_bytes were copied: neither skipped nor there */
			uint64_t ns; /* that the copies took, without the steps between them */
			/* what was saved; the receiver takes it and sets it to NULL, or frees it with
			 * lmi_engine_event_release.  NULL: it was restored */
			struct lmi_engine_saved *saved;
		} moved; /* MOVED */
		struct {
			uint64_t bytes; /* that each device stores for it */
		} bound; /* BOUND */
		struct lmd_error error; /* FAILED */
	} u;
};

#endif /* LLAMAD_CORE_ENGINE_COMMAND_H */
