/* SPDX-License-Identifier: MIT
 *
 * engine_job.h - the state of a running command: its sequences with their tokens, and its output.
 *
 * Created and checked on the submitting thread, then owned by the engine's thread. */
#ifndef LLAMAD_CORE_ENGINE_ENGINE_JOB_H
#define LLAMAD_CORE_ENGINE_ENGINE_JOB_H

#include "core/engine/command.h"
#include "core/engine/instance.h"
#include "core/sched/sched.h"

struct lmi_engine_job;
struct lmi_engine_gen;

struct lmi_engine_seq {
	struct lmi_engine_job *session;
	uint32_t index;	   /* in the command */
	uint32_t handle;   /* of the scheduler; LMI_SCHED_NO_SEQ: not scheduled (yet or any more) */
	lmd_token *tokens; /* [cap], of which n_tokens are known; NULL with external rows */
	uint32_t n_tokens, cap;
	lmd_token *enc; /* [n_enc] */
	uint32_t n_enc;
	struct lmi_engine_seq_picture *pictures; /* [n_picture], in place of tokens below 0; picture.h */
	uint32_t n_picture;
	struct lmi_sched_span *spans; /* [n_span] rows that see each other */
	uint32_t n_span;
	float *ext;   /* [n_rows][n_input_embd] */
	int32_t *pos; /* [n_plane][n_rows] */
	uint32_t n_plane;
	uint32_t n_rows; /* rows at the start: tokens or external rows */
	int32_t adapter;
	uint32_t adapter_from; /* its first row with the adapter; set when it starts */
	uint32_t n_prompt;     /* tokens of the request, without those of an earlier run */
	uint32_t fork_of, fork_at, out_from;
	uint32_t passage_end; /* of the passage that is being moved; passage.c */
	uint32_t n_draft; /* guessed tokens after the known ones; see speculate.h */
	/* tokens after the known ones that the device has chosen, or will, in submitted steps; the
	 * scheduler knows their rows. Until they are read, `tokens` has LMD_TOKEN_CHAINED + the
	 * sequence slot in their place. */
	uint32_t n_unread;
};

struct lmi_engine_job {
	uint64_t id;
	enum lmi_engine_class class;
	struct lmi_engine_job *next, *prev; /* in the engine's list */
	/* for an evaluation */
	enum lmi_engine_eval_output want;
	int32_t pooling;
	uint32_t chunk, chunk_from;
	bool whole;
	uint32_t n_logprobs;
	/* for a generation; NULL: an evaluation */
	struct lmi_engine_gen *gen;
	bool caches; /* its rows are looked up in the prefix cache and found there later */
	uint64_t tenant, client;
	uint64_t pin_ns; /* how long its prompt is pinned */
	uint32_t cache_reuse; /* tokens of the shortest passage whose rows are moved; 0: none is */

	bool looks; /* its pictures wait for the tower, and its sequences are not scheduled yet */
	uint64_t look_turn; /* while it does: after the picture of this number, of all, it is next */
	/* it is to be paused; it has been, and its sequence is not scheduled */
	bool pauses, paused;
	/* when it was paused first: what it found in memory, for its end */
	bool was_paused;
	uint32_t n_cached, n_match;

	uint32_t n_left; /* unfinished sequences */
	uint32_t n_seq;
	struct lmi_engine_seq seqs[];
};

/* Checks the command against the model and copies it. */
enum lmd_status lmi_engine_job_eval(struct lmi_engine_job **out, const struct lmi_inst *inst,
				    const struct lmi_engine_eval *cmd, struct lmd_error *err);
/* Creates a generating session with its sampler chain, which has accepted the prompt. Called on the
 * submitting thread. */
enum lmd_status lmi_engine_job_generate(struct lmi_engine_job **out, const struct lmi_inst *inst,
					const struct lmi_sampler_vocab *vocab,
					const struct lmi_engine_generate *cmd,
					struct lmd_error *err);
/* s may be NULL. */
void lmi_engine_job_destroy(struct lmi_engine_job *s);

/* Returns position plane k of a sequence; NULL: positions are row numbers. */
const int32_t *lmi_engine_seq_pos(const struct lmi_engine_seq *q, int k);

#endif /* LLAMAD_CORE_ENGINE_ENGINE_JOB_H */
