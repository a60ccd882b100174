/* SPDX-License-Identifier: MIT
 *
 * serve.h - a worker's side: its device, its objects, and what it answers. */
#ifndef LLAMAD_CORE_WORKER_SERVE_H
#define LLAMAD_CORE_WORKER_SERVE_H

#include "core/base/team.h"
#include "core/worker/channel.h"
#include "core/worker/protocol.h"

struct lmi_plan_step;

enum lmi_worker_object_kind {
	LMI_WORKER_OBJECT_NONE = 0,
	LMI_WORKER_OBJECT_FILE,
	LMI_WORKER_OBJECT_BUFFER,
	LMI_WORKER_OBJECT_WEIGHT,
	LMI_WORKER_OBJECT_POOL,
	LMI_WORKER_OBJECT_PLAN
};

struct lmi_worker_object {
	enum lmi_worker_object_kind kind;
	char *mem; /* FILE, BUFFER: mapping; WEIGHT: what was copied, or NULL */
	uint64_t bytes;
	struct lmd_weight *weight;
	struct lmd_pool *pool;
	struct lmd_compiled_plan *compiled_plan;
	struct lmd_buffer *buffer;  /* memory of the device */
	struct lmd_arena *arena;    /* WEIGHT, PLAN: what they refer to */
	struct lmd_plan *plan;
	struct lmi_plan_step *step; /* of the plan, with a block of its own */
};

struct lmi_worker_serve {
	int sock;
	struct lmd_host *host;
	struct lmi_plugin_registry *registry;
	const struct lmi_factory *factory;
	const struct lmd_backend_ops *ops; /* NULL before HELLO */
	void *state;
	struct lmd_team *team;
	struct lmi_team_threads threads; /* its place is used only to open it */
	bool own_memory; /* the device does not compute in host memory */
	struct lmi_worker_page *page;
	struct lmi_worker_object *objects; /* [n_object] by number */
	uint64_t n_object;
	struct lmd_arena *declared_arena;
	struct lmd_plan declared;
	struct lmi_worker_out reply;
};

/* Makes room for an object of that number. LMD_INVALID: it is in use, or out of range. */
enum lmd_status lmi_worker_object_create(struct lmi_worker_serve *s, uint64_t number,
					 enum lmi_worker_object_kind kind,
					 struct lmi_worker_object **out, struct lmd_error *err);
/* NULL: there is none. */
struct lmi_worker_object *lmi_worker_object_find(struct lmi_worker_serve *s, uint64_t number,
						 enum lmi_worker_object_kind kind);
/* o may be NULL. */
void lmi_worker_object_destroy(struct lmi_worker_serve *s, struct lmi_worker_object *o);
/* Destroys the object whose number the request has, if there is one. */
enum lmd_status lmi_worker_forget_object(struct lmi_worker_serve *s, struct lmi_worker_in *in,
					 enum lmi_worker_object_kind kind);
enum lmd_status lmi_worker_too_short(struct lmd_error *err);

/* What a request does: reads it, writes the answer to s->reply. fd stays the caller's. */
typedef enum lmd_status (*lmi_worker_handler)(struct lmi_worker_serve *s, struct lmi_worker_in *in,
					      int fd, struct lmd_error *err);

/* serve_buffer.c */
enum lmd_status lmi_worker_do_file(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				   struct lmd_error *err);
enum lmd_status lmi_worker_do_buffer(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				     struct lmd_error *err);
enum lmd_status lmi_worker_do_buffer_free(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
					  struct lmd_error *err);
enum lmd_status lmi_worker_do_copy(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				   struct lmd_error *err);
enum lmd_status lmi_worker_do_memory(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				     struct lmd_error *err);
/* serve_weight.c */
enum lmd_status lmi_worker_do_weight_query(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
					   struct lmd_error *err);
enum lmd_status lmi_worker_do_weight_load(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
					  struct lmd_error *err);
enum lmd_status lmi_worker_do_weight_export(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
					    struct lmd_error *err);
/* serve_plan.c */
enum lmd_status lmi_worker_do_declare(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				      struct lmd_error *err);
enum lmd_status lmi_worker_do_support(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				      struct lmd_error *err);
enum lmd_status lmi_worker_do_plan_query(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
					 struct lmd_error *err);
enum lmd_status lmi_worker_do_compile(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				      struct lmd_error *err);
enum lmd_status lmi_worker_do_run(struct lmi_worker_serve *s, struct lmi_worker_in *in, int fd,
				  struct lmd_error *err);

#endif /* LLAMAD_CORE_WORKER_SERVE_H */
