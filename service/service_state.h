/* SPDX-License-Identifier: MIT
 *
 * service_state.h - the state of the service, for the files of the service only. */
#ifndef LLAMAD_SERVICE_SERVICE_STATE_H
#define LLAMAD_SERVICE_SERVICE_STATE_H

#include <stdatomic.h>

#include "proto/proto.h"
#include "service/idempotency.h"
#include "service/limits.h"
#include "service/service.h"
#include "service/stream.h"
#include "service/usage.h"
#include "service/user.h"

struct lmi_svc_call;
struct lmi_svc_durable;
struct lmi_svc_evaluation;
struct lmi_svc_event_ring;
struct lmi_svc_replay_list;
struct lmi_svc_generation;
struct lmi_svc_loaded_model;
struct lmi_svc_model;
struct lmi_svc_name;
struct lmi_svc_preset_row;
struct lmi_svc_registry_rows;
struct lmi_svc_quota;
struct lmi_svc_prefix_tier;
struct lmi_svc_session_work;

struct lmi_service {
	struct lmi_service_opts o;
	struct lmi_service_limits limits;
	struct lmi_service_hooks hooks;
	struct lmi_wire_id boot;
	uint64_t start_ns, now; /* now: time of the latest call */
	bool closed;
	_Atomic bool stopping; /* also read by jobs that load a model */

	struct lmi_svc_streams streams;
	struct lmi_svc_idempotency_keys idempotency_keys;

	/* models */
	struct lmi_svc_model *models;
	struct lmi_svc_loaded_model *loaded_models;
	uint32_t n_loaded_model;
	uint64_t n_engine; /* engines opened so far */
	uint32_t n_loss;   /* losses of devices seen so far */
	struct lmi_svc_name *names;
	uint32_t n_name;
	uint64_t names_epoch; /* counts changes of the registry */
	uint32_t names_n_replaced; /* lmi_store_n_replaced when they were read */
	struct lmi_svc_registry_rows *rows; /* registry_rows.h; NULL: not read yet */
	uint64_t rows_epoch;                /* counts what makes them invalid */
	struct lmi_svc_preset_row *preset_rows; /* preset_rows.h */

	/* generations */
	_Atomic uint64_t picture_bytes; /* of pictures that wait for the engine (pictures.h) */
	struct lmi_svc_generation *generations;              /* all generations */
	struct lmi_svc_generation *queue;                    /* ready to run, in order of arrival */
	uint64_t round; /* of starting generations */
	struct lmi_svc_generation *run[LMI_SVC_RUNNING_MAX]; /* running ones, by slot */
	uint64_t serial;
	uint64_t mean_ns;    /* moving average of the run time of a generation */
	uint64_t watched_ns; /* when the engines' progress was last read */

	struct lmi_svc_evaluation *evaluations; /* submitted to an engine */
	struct lmi_svc_user *users; /* those that hold something, or did lately */
	uint64_t users_when;        /* of the next look for users that can be forgotten */
	struct lmi_svc_account held; /* by all users together */
	struct lmi_svc_quota *quotas; /* of all keys */
	struct lmi_svc_usage usage;
	struct lmi_svc_call *calls;  /* pending requests */
	struct lmi_svc_durable *durables;
	uint32_t n_durable;
	uint64_t durable_bytes; /* of their files */
	uint32_t n_job; /* jobs of the service that are not done */
	struct lmi_svc_session_work *session_work; /* session_work.h: a queue */
	bool session_runs; /* its first piece has begun */
	struct lmi_svc_prefix_tier *prefix_tier; /* NULL: without a store */
	struct lmi_svc_adapter_book *adapter_books; /* names that op adapter_set gave */
	struct lmi_svc_replay_list *replays;   /* NULL: no request has been kept yet */
	struct lmi_svc_event_ring *event_ring; /* NULL: nothing has happened yet */

	struct lmi_service_stats count;
};

/* Returns whether the daemon is ready or draining. */
enum lmi_wire_server_state lmi_service_state(const struct lmi_service *svc);
/* Returns the time after which a retry makes sense if the queue of generations is full. */
uint32_t lmi_svc_retry_ms(const struct lmi_service *svc);

#endif /* LLAMAD_SERVICE_SERVICE_STATE_H */
