/* SPDX-License-Identifier: MIT
 *
 * engine.h - runs one model: commands in, events out.
 *
 * An engine owns an instance of a model, its scheduler and its sequences. Any thread may submit
 * commands to a bounded queue (LMD_BUSY if it is full); events come out of another queue, which a
 * single thread reads. If events are not read, the engine stops before a step whose events might
 * not fit; nothing is dropped.
 *
 * An engine normally has its own thread. Without one (opts.in_line) the caller runs it step by step
 * with lmi_engine_step.
 *
 * There is no global state; a process may have any number of engines. Between receiving a step and
 * queueing its events the engine's thread allocates nothing. */
#ifndef LLAMAD_CORE_ENGINE_ENGINE_H
#define LLAMAD_CORE_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/cpu_set.h"
#include "core/engine/command.h"
#include "core/format/format.h"
#include "llamad/arch.h"

struct lmi_engine;
struct lmi_tokenizer;
struct lmi_chat;
struct lmi_plugin_registry;
struct lmi_engine_devices;
struct lmd_host;

/* ---- what to open ---- */

/* Slots of adapters: 0 is none, 1 has the adapter_files of the options, the others have one adapter or
 * several that apply together. */
#define LMI_ENGINE_FIRST_ADAPTER_SLOT 2
#define LMI_ENGINE_N_ADAPTER_SLOT     64

/* A file applied to a model: adapter or control vector. */
struct lmi_engine_adapter_ref {
	const char *path;
	float scale; /* multiplies the file's own scale */
};

/* Progress callback while a model is opened, called on the opening thread: `done` of `total` bytes
 * of a phase. Returning false cancels with LMD_CANCELLED. */
enum lmi_engine_load_phase {
	LMI_ENGINE_LOAD_READ,   /* reading files into memory, or locking them there */
	LMI_ENGINE_LOAD_WEIGHTS, /* passing weights to the backend */
	LMI_ENGINE_LOAD_REPACK	 /* writing the repack cache */
};
typedef bool (*lmi_engine_load_fn)(void *arg, enum lmi_engine_load_phase phase, uint64_t done,
				   uint64_t total);

/* Memory of a loaded model in bytes, known before it is allocated. All but `file` is memory of the
 * device. */
struct lmi_engine_memory {
	uint64_t file;	    /* mapped files; shared with other readers */
	uint64_t copied;    /* files read into memory */
	uint64_t weights;   /* weights in the backend's own layout, beyond the files */
	uint64_t adapters;  /* of adapter_files and slot_adapters, and of those bound since */
	uint64_t tower;	    /* all of the vision tower, but its file */
	uint64_t draft;	    /* all of the draft model, but its file */
	uint64_t sequences; /* keys, values and states */
	uint64_t step;	    /* values of a step */
	uint64_t results;   /* results of a step */
	uint64_t budget;    /* limit for everything but `file`; UINT64_MAX: unknown */
};

/* A device that was lost, because of which a model could not be opened. */
struct lmi_engine_loss {
	char device[56]; /* "emu1"; "": none */
	uint64_t wait_ns; /* how long it stays closed */
};

/* Where tokens are chosen. */
enum lmi_engine_device_sampling {
	LMI_ENGINE_DEVICE_SAMPLING_AUTO = 0, /* on the device if it can do that, has a queue, and has
					      * all samplers of a request's chain */
	LMI_ENGINE_DEVICE_SAMPLING_OFF = 1   /* on the host */
};

/* A model in memory that may be the draft model of another one. */
struct lmi_engine_draft_candidate {
	const char *path;
	uint8_t vocab_digest[32]; /* as in struct lmi_engine_info */
	uint64_t weight_bytes;	  /* also */
	uint64_t number;	  /* by which the caller knows it, not 0 */
};
/* In place of the path of a draft model: the model's own draft layers (NextN). */
#define LMI_ENGINE_DRAFT_OWN "nextn"
/* A candidate has at most this part of the bytes of weights. */
#define LMI_ENGINE_DRAFT_SMALLER 4u

/* Files with weights as a backend has repacked them (repack_cache.h). */
struct lmi_engine_repack_opts {
	const char *dir;    /* is created if its parent exists */
	uint64_t max_bytes; /* of all files there; what was used longest ago is removed */
	uint8_t model[32];  /* names the files of the model and their contents */
};

struct lmi_inst; /* instance.h */

/* The model, the device it runs on and the sizes of its memory. */
struct lmi_engine_model_opts {
	struct lmi_plugin_registry *registry; /* must outlive the engine */
	const struct lmd_host *host;   /* must outlive the engine */
	const char *path;	       /* of the model file */
	const char *const *files;      /* [n_files] of a split set, see struct lmi_open_opts; NULL:
				        * found by name */
	uint32_t n_files;
	const char *label;	       /* the model's name for its users, for the log; may be NULL */
	const char *backend;	       /* name; NULL or "auto": the best available */
	uint32_t device;	       /* number of the backend's device */
	uint32_t n_thread;	       /* CPU threads for steps of at most LMI_TEAM_FEW_ROWS rows; 0 =
					* one per processor that they may use */
	uint32_t n_thread_batch;       /* CPU threads for steps of more rows; 0 = n_thread */
	struct lmi_cpu_place place;    /* where they run */
	uint32_t activations;	       /* enum lmd_activations */
	uint32_t attention;	       /* enum lmd_attention */
	uint32_t deterministic;	       /* enum lmd_deterministic */
	uint32_t n_ctx;		       /* context length of a sequence; 0 = the model's, or what
				        * fits */
	uint32_t n_seq;		       /* sequences at a time; 0 = 1 */
	uint32_t n_batch;	       /* rows of a step; 0 = 512, or n_whole if rows attend to
				        * later ones */
	uint32_t n_whole;	       /* tokens of the longest expected sequence; 0 = n_ctx */
	uint32_t n_out;		       /* output rows of a step; 0 = as many as fit in 64 MiB, or
				        * all if rows attend to later ones */
	uint64_t kv_tokens;	       /* tokens of all sequences; 0 = n_seq times n_ctx */
	bool share_kv;		       /* if kv_tokens is 0: as many as fit in half of the memory */
	int32_t k_dtype, v_dtype;      /* enum lmd_dtype of keys and values; -1 = the device's
				        * preference */
	int32_t pooling;	       /* enum lmd_pooling, or LMD_POOL_UNSET */
	uint64_t memory_limit;	       /* bytes; 0 = the machine's available memory */
	uint32_t open_flags;           /* LMI_OPEN_* of format.h */
	lmi_engine_load_fn progress;   /* may be NULL */
	void *progress_arg;
	bool no_prefix_cache;	       /* compute every prompt from its first token */
	bool adapters;		       /* rows may carry adapters */
	/* [n_adapter_files], applied together in slot 1 to all rows that name no slot */
	const struct lmi_engine_adapter_ref *adapter_files;
	uint32_t n_adapter_files;
	/* [n_slot_adapters], number i alone in slot LMI_ENGINE_FIRST_ADAPTER_SLOT + i, for the rows
	 * that name it, to which adapter_files then do not apply */
	const struct lmi_engine_adapter_ref *slot_adapters;
	uint32_t n_slot_adapters;
	/* file of a smaller model with the same vocabulary, or of a draft model that reads the hidden rows
	 * of this one (EAGLE-3, DFlash), which guesses tokens: speculate.h; NULL: none.
	 * LMI_ENGINE_DRAFT_OWN: the model's own draft layers do */
	const char *draft_path;
	bool draft_layers; /* also, without draft_path, if it has draft layers that can be run */
	/* [n_draft_candidates] without draft_path: the smallest of them that has the same vocabulary is
	 * used, if its weights are few enough and it can be opened. Requires vocab_digest. */
	const struct lmi_engine_draft_candidate *draft_candidates;
	uint32_t n_draft_candidates;
	const struct lmi_inst *target; /* for which this is a draft model; NULL: it is none */
	const char *mmproj_path; /* file of a vision tower, which turns pictures into rows; NULL: none */
	bool mmproj_optional; /* if it cannot be used, the model is opened, and reads no pictures */
	const char *lookup_path; /* text file in which guesses are looked up: lookup_file.h; NULL: none */
	bool lookahead; /* guesses are found by lookahead decoding as well: draft_lookahead.c. LMD_UNSUPPORTED unless
			 * rows of steps can be masked */
	const struct lmi_engine_repack_opts *repack; /* used while opening; NULL: no repack cache */
	enum lmi_engine_device_sampling device_sampling;
	bool keep_values;	       /* values of a plan share no memory (for observation) */
	bool unfused;                  /* unfused plans of plain ops: the input of each weight is a
				        * value */
	struct lmi_engine_devices *devices; /* shared by engines; must outlive them. NULL: devices of
					     * its own */
	bool at_once;		       /* open devices that were lost a moment ago as well */
	bool isolated;		       /* its devices are in a process of their own */
	bool isolate_untrusted;	       /* those of untrusted plugins are (registry.h), if this program
				        * can start processes and values are not kept */
	/* how long that process may take for a request, or without progress in a step, before it is
	 * ended; 0 = any time */
	uint64_t isolation_timeout_ns;
	struct lmi_engine_loss *loss;  /* filled when opening fails for that; may be NULL */
	/* the devices to use, separated by commas, such as "emu0,emu1"; NULL: `backend` and
	 * `device` */
	const char *device_list;
	/* how many of the last layers run on these devices: a number, "all" or "auto", as many as
	 * fit; the others run on the cpu. NULL: all */
	const char *gpu_layers;
	/* shares of the layers for each device, such as "3,1"; "tensor": every device has a part of
	 * every layer, "tensor:4": in four parts, so that the results do not depend on the number of
	 * devices; NULL: layers by free memory */
	const char *split;
	/* REGEX=DEVICE, separated by commas: ops whose weights match run on that device; may be
	 * NULL */
	const char *override_tensor;
};

/* Do the options ask for the model's own draft layers by name? */
bool lmi_engine_draft_is_own(const struct lmi_engine_model_opts *o);

/* ---- placement ---- */

/* Maximum number of devices that a model can use. */
#define LMI_ENGINE_MAX_DEVICE 8

/* What of a model is on one device. */
struct lmi_engine_device_share {
	char name[56];	     /* "cpu0" */
	int32_t first, last; /* layers; -1: none */
	uint32_t n_op;	     /* of the plan that most requests use */
	uint64_t opening;    /* for lmi_engine_device_is_lost */
	int64_t pid;	     /* of the process that it is in; 0: this one, or it has ended */
	struct lmi_engine_memory memory;
};

/* Ops that run on another device than they were meant for. */
struct lmi_engine_moved {
	char op[24];
	uint32_t n;	   /* ops */
	uint32_t from, to; /* indices of devices */
	char reason[96];
};
#define LMI_ENGINE_MAX_MOVED 24

struct lmi_engine_placement {
	struct lmi_engine_device_share devices[LMI_ENGINE_MAX_DEVICE];
	uint32_t n_device;
	/* those of the vision tower, with its own memory; layers and ops are not counted. Empty in an estimate */
	struct lmi_engine_device_share tower[LMI_ENGINE_MAX_DEVICE];
	uint32_t n_tower;
	struct lmi_engine_moved moved[LMI_ENGINE_MAX_MOVED];
	uint32_t n_moved;
	uint32_t n_layer, n_segment;
	char sampling[56];   /* device that chooses tokens if a request's samplers allow it; "": the host
			      * does */
	char no_sampling[112]; /* why no device does, if they have queues */
};

/* Estimates the memory that opening with these options would take, with that of a vision tower and of a draft model,
 * without allocating it: reads no data and creates no pool. n_ctx: the context length that fits; where: which op
 * would run where; may be NULL. */
enum lmd_status lmi_engine_estimate(struct lmi_engine_memory *out, uint32_t *n_ctx,
				    struct lmi_engine_placement *where,
				    const struct lmi_engine_model_opts *opts,
				    struct lmd_error *err);

/* Sums up everything that counts against the budget. */
uint64_t lmi_engine_memory_sum(const struct lmi_engine_memory *m);

/* ---- an engine ---- */

/* On devices with queues, an engine submits the next step before the last one is finished, as far as
 * it does not depend on its results. The sequences that generate can take turns in two halves, so
 * that one half is sampled while the other is computed. */
enum lmi_engine_halves {
	LMI_ENGINE_HALVES_AUTO = 0,  /* if it is faster, by measured times */
	LMI_ENGINE_HALVES_NEVER = 1,
	LMI_ENGINE_HALVES_ALWAYS = 2 /* for tests */
};

struct lmi_engine_opts {
	struct lmi_engine_model_opts inst;
	uint32_t n_request; /* maximum sequences, including waiting ones; 0 = 256 */
	uint32_t n_event;   /* maximum unread events; 0 = 1024 */
	bool in_line;       /* no thread: the caller calls lmi_engine_step */
	bool no_tokenizer;  /* evaluation only: do not open the vocabulary */
	bool vocab_digest;  /* compute the digest of the vocabulary */
	enum lmi_engine_halves halves;
	/* threads that find the next tokens of grammars; 0 = 2, but none for an in-line engine,
	 * which does it itself */
	uint32_t n_mask_thread;
	/* How long a generation of each class (enum lmi_engine_class) may wait for a step because of
	 * the prompts of others, in ns; 0: any time. The size of steps then depends on measured
	 * times. */
	uint64_t target_ns[LMI_ENGINE_N_CLASS];
	/* How much longer a step may take because some clients run more generations than others; see
	 * struct lmi_sched_opts */
	uint32_t client_slowdown_percent;
};

/* Opens the model and starts the thread. Slow: reads the file's tables and weights. */
enum lmd_status lmi_engine_open(struct lmi_engine **out, const struct lmi_engine_opts *opts,
				struct lmd_error *err);

/* What was opened; pointers are valid as long as the engine. */
struct lmi_engine_info {
	const struct lmd_host *host;	  /* of the options */
	const struct lmd_arch_desc *desc; /* of the architecture */
	const char *model;		  /* the name that the model's file gives */
	const char *backend;
	uint32_t n_thread, n_thread_batch;
	uint32_t n_ctx, n_seq, n_batch; /* as in the options, resolved */
	/* bytes: weights with the files they lie in, sequences, and the values of all plans so
	 * far */
	uint64_t weight_bytes, kv_bytes, scratch_bytes;
	uint64_t vocab_bytes; /* of the tokenizer and the pieces of its tokens; 0: there is none */
	uint64_t devices; /* bit i: uses device i of opts.devices */
	/* name of the draft model, whose bytes are part of the above, or LMI_ENGINE_DRAFT_OWN; NULL:
	 * none */
	const char *draft;
	uint64_t draft_number; /* of the candidate that is the draft model; 0: none of them */
	const uint8_t *vocab_digest; /* [32] of the vocabulary's pieces; zeros unless asked for */
	const struct lmd_model *file; /* what the model's files say; never changes */
};
void lmi_engine_info(const struct lmi_engine *e, struct lmi_engine_info *out);
/* Ends the use of the candidate that is the draft model: new generations do without, and it is closed
 * when the last one that has used it ends. Does nothing if there is none. The submitting thread. */
void lmi_engine_drop_draft(struct lmi_engine *e);
/* Tells which op runs where. */
void lmi_engine_where(const struct lmi_engine *e, struct lmi_engine_placement *out);

/* Resolves a requested pooling (enum lmd_pooling): LMD_POOL_UNSET means the model's own. */
int32_t lmi_engine_pooling(const struct lmi_engine *e, int32_t asked);

/* NULL if opened without a tokenizer. */
const struct lmi_tokenizer *lmi_engine_tokenizer(const struct lmi_engine *e);
/* Chat templates of the model; NULL if opened without a tokenizer. */
const struct lmi_chat *lmi_engine_chat(const struct lmi_engine *e);

/* Returns the tokens that the model's file says are never sampled, [*n], valid as long as e. */
const lmd_token *lmi_engine_suppressed(const struct lmi_engine *e, uint32_t *n);
/* Returns what pictures have to be for the model's tower, valid as long as e; NULL: it has none. */
const struct lmd_picture *lmi_engine_picture(const struct lmi_engine *e);
/* Returns the number of rows of a picture of so many patches; 0: none that the tower computes. */
uint32_t lmi_engine_picture_rows(const struct lmi_engine *e, uint32_t patches_w, uint32_t patches_h);

/* Computes the digest of a picture's content, all members of which but `digest` and `first` are set, so that
 * submitting it takes less time. LMD_NOMEM, LMD_CANCELLED. Any thread. */
enum lmd_status lmi_engine_picture_digest(const struct lmi_engine *e, const struct lmi_engine_picture *p,
					  uint8_t out[32], struct lmd_error *err);

struct lmi_sampler_scalars; /* sample.h */
/* Returns the sampling parameters that the model's file recommends, valid as long as e. */
const struct lmi_sampler_scalars *lmi_engine_sampling(const struct lmi_engine *e);

/* Returns true if opening the model now would use other code, because the plugin of its
 * architecture, backend or tokenizer was replaced. Removed plugins do not count. Accesses files;
 * any thread. */
bool lmi_engine_is_stale(const struct lmi_engine *e);

/* Submit a command. Any thread. A command that cannot run fails here, with the numbers in the
 * message: LMD_INVALID, LMD_UNSUPPORTED, LMD_NOTFOUND; LMD_BUSY: too many at a time. Later errors
 * are reported as events. */
enum lmd_status lmi_engine_eval(struct lmi_engine *e, const struct lmi_engine_eval *cmd,
				struct lmd_error *err);
enum lmd_status lmi_engine_generate(struct lmi_engine *e, const struct lmi_engine_generate *cmd,
				    struct lmd_error *err);
/* Ends a command after the running step, which is cut short if all its rows belong to that command.
 * Unknown ids are ignored, since the command may have ended meanwhile. LMD_BUSY: the queue is full
 * and nothing was cancelled. Any thread. */
enum lmd_status lmi_engine_cancel(struct lmi_engine *e, uint64_t id);
/* Pauses a generation after the steps that it is part of, or lets it go on. While it is paused it takes part
 * in no step and holds no memory of a device: what it computed is in the prefix cache, if it uses that, until
 * the memory is needed, and is computed again otherwise. Its tokens are those that it would have had. Commands
 * that have ended or are no generations are ignored. LMD_BUSY: the queue is full, and nothing was changed. Any
 * thread. */
enum lmd_status lmi_engine_pause(struct lmi_engine *e, uint64_t id, bool paused);

/* Returns a number that changes while the engine computes: after each step and, if the backend
 * supports it, several times within one. Any thread. */
uint32_t lmi_engine_progress(const struct lmi_engine *e);
/* Returns true if the device or the model's file was lost in a step. All commands have failed then,
 * and so will new ones; *why has the reason. A new engine must be opened. Any thread. */
bool lmi_engine_is_broken(const struct lmi_engine *e, struct lmd_error *why);

/* Returns the next event, or false if there is none. One thread. */
bool lmi_engine_poll(struct lmi_engine *e, struct lmi_engine_event *out);
/* Waits for an event. Returns false after timeout_ms (-1 = no limit), if the engine has stopped and
 * everything was read, and whenever the wait was interrupted, for example by a signal or a write to
 * lmi_engine_fd (an eventfd). Not for in-line engines. */
bool lmi_engine_wait(struct lmi_engine *e, struct lmi_engine_event *out, int timeout_ms);
/* Readable while events may be waiting; for loops that watch many descriptors. */
int lmi_engine_fd(const struct lmi_engine *e);
/* Clears the descriptor; call it before each round of lmi_engine_poll. */
void lmi_engine_clear_fd(struct lmi_engine *e);
/* Defers wakeups: tokens and text that arrive before until_ns of the host's clock need not make the
 * descriptor readable, because the reader will poll by then. Other events still do, and so does a
 * queue that fills up. 0 (the default): every event wakes the reader. Reader's thread only. Set 0
 * before a round of lmi_engine_poll, and a time only after a round that ended with false, so that
 * no event is waiting unnoticed. */
void lmi_engine_defer_wakeups(struct lmi_engine *e, uint64_t until_ns);
/* Frees the data that an event owns. */
void lmi_engine_event_release(struct lmi_engine_event *ev);

enum lmi_engine_step_result {
	LMI_ENGINE_STEP_IDLE = 0,       /* nothing to do */
	LMI_ENGINE_STEP_RAN = 1,        /* a step ran */
	LMI_ENGINE_STEP_EVENTS_FULL = 2 /* events must be read first */
};
/* In-line engines: takes commands and runs at most one step. */
enum lmi_engine_step_result lmi_engine_step(struct lmi_engine *e);

/* Stops accepting commands. Idempotent; any thread. */
void lmi_engine_close(struct lmi_engine *e);
/* Cancels the remaining commands and waits until the engine is idle; final events can still be
 * read. */
void lmi_engine_stop(struct lmi_engine *e);
/* Stops if needed and frees everything; unread events are lost. e may be NULL. */
void lmi_engine_fini(struct lmi_engine *e);

/* Of compiled grammars, which an engine keeps for its next answers. */
struct lmi_engine_grammar_cache_stats {
	uint64_t n_hit, n_miss, n_evicted;
	uint32_t n;     /* entries */
	uint64_t bytes; /* of all entries, without matchers in use */
};

struct lmi_engine_stats {
	uint64_t n_step, n_row, n_preempted, n_shared_rows, n_generated;
	uint64_t n_started, n_hit; /* generations that use the prefix cache; those that found rows */
	/* steps that computed prompts while generations waited, of those that were measured; and how
	 * many of them took longer than target_ns */
	uint64_t n_bounded, n_over_bound;
	uint64_t n_page_evicted;   /* pages and slots that could be found until their memory was
				    * needed */
	uint32_t n_pinned; /* pages of tokens that are pinned */
	uint64_t n_forced; /* how many of n_generated had no step of their own; see constrain.h */
	/* tokens that were guessed and computed, and how many of them were right; see speculate.h */
	uint64_t n_drafted, n_accepted;
	uint64_t n_branch; /* steps after which a guess beside the chain was right */
	uint64_t n_draft_step, n_draft_row; /* steps of the draft model, and their rows */
	uint32_t n_waiting, n_active;
	uint32_t n_page[LMD_MAX_GROUP], n_free[LMD_MAX_GROUP];
	uint32_t n_cached[LMD_MAX_GROUP]; /* how many of n_free can be found by their tokens */
	uint32_t n_peak[LMD_MAX_GROUP];	  /* the most that were not free after a turn */
	uint32_t n_plan;       /* compiled plans; constant once each kind of command has been used */
	uint64_t n_on_device;  /* how many of n_generated were chosen by a device */
	uint64_t n_short;      /* how many were chosen from the best candidates alone */
	uint64_t n_overlapped; /* how many of n_step were submitted while another was running */
	uint64_t step_allocs; /* allocations of the engine's thread from choosing a step to queueing
			       * its events, without steps that contain evaluations, whose rows are
			       * allocated */
	struct lmi_engine_grammar_cache_stats grammars;
};
/* As of the last completed turn; any thread. */
void lmi_engine_stats(struct lmi_engine *e, struct lmi_engine_stats *out);

struct lmi_engine_cache_bytes {
	uint64_t reserved; /* what there is room for; memory of a host is taken as it is used */
	uint64_t used;	   /* what sequences have now */
	uint64_t peak;	   /* the most that they had; groups of caches at their own time */
};
/* Bytes of keys and values, and of the states of recurrent layers, without those of a draft model. As of the last
 * completed turn; any thread. */
void lmi_engine_cache_bytes(struct lmi_engine *e, struct lmi_engine_cache_bytes *kv,
			    struct lmi_engine_cache_bytes *states);

#endif /* LLAMAD_CORE_ENGINE_ENGINE_H */
