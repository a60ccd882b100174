/* SPDX-License-Identifier: MIT
 *
 * stream_writer.h - what writes to a stream, and the life of a stream from its begin to its end. */
#ifndef LLAMAD_SERVICE_STREAM_WRITER_H
#define LLAMAD_SERVICE_STREAM_WRITER_H

#include "service/output.h"
#include "service/request.h"
#include "service/service.h"
#include "service/stream.h"

/* A reason in addition to enum lmi_wire_cancel_reason: the daemon stops, which is a finish. */
#define LMI_SVC_CANCEL_SHUTDOWN 100u
struct lmi_svc_end lmi_svc_end_of(uint32_t reason);

/* A generation or a job that writes to a stream; a member of a larger object. */
struct lmi_svc_stream_writer {
	struct lmi_svc_stream *stream; /* NULL: it has ended */
	/* Ends it, during the call or later, with a reason as above. */
	void (*cancel)(struct lmi_svc_stream_writer *w, uint64_t now, uint32_t reason);
	/* Returns whether it is running, for op streams. */
	bool (*runs)(const struct lmi_svc_stream_writer *w);
	/* Pauses it, or lets it go on; NULL: it cannot be paused. *was_paused: before the call; *left_ms:
	 * until it is cancelled. */
	enum lmd_status (*pause)(struct lmi_svc_stream_writer *w, uint64_t now, bool paused,
				 bool *was_paused, uint64_t *left_ms, struct lmd_error *err);
	bool (*is_paused)(const struct lmi_svc_stream_writer *w); /* with pause */
};

/* Creates a stream for the request, which w writes to.  lmi_svc_stream_admit() must have succeeded.
 * model: name of the model, for op streams. */
enum lmd_status lmi_svc_stream_begin(struct lmi_svc_request *a,
				     struct lmi_svc_stream_writer *w, uint32_t kind,
				     const struct lmd_str *model, uint64_t lease_ms,
				     struct lmd_error *err);
/* Makes room for one more stream of that principal, if necessary by destroying one that was read to
 * its end.  Returns LMD_BUSY if there is none. */
enum lmd_status lmi_svc_stream_admit(struct lmi_service *svc,
				     const struct lmi_svc_principal *principal,
				     struct lmd_error *err);
/* Destroys a stream without waiting readers, and takes it out of the account of its user. */
void lmi_svc_stream_drop(struct lmi_service *svc, struct lmi_svc_stream *s);
/* Ends the work: adds the final item, answers readers, and destroys the stream if it was given
 * up. */
void lmi_svc_stream_end(struct lmi_service *svc, struct lmi_svc_stream_writer *w, uint64_t now,
			const struct lmi_svc_end *end);
/* Gives up a stream: it cannot be found any more, its work is cancelled, its readers get an
 * error. */
void lmi_svc_stream_give_up(struct lmi_service *svc, struct lmi_svc_stream *s, uint64_t now,
			    uint32_t reason);
/* Answers the readers that are due, or delivers items to the subscriber. */
void lmi_svc_stream_pump(struct lmi_service *svc, struct lmi_svc_stream *s, uint64_t now);

/* Most log probabilities of one item: of the token, and of the most likely ones. */
#define LMI_SVC_ITEM_LOGPROBS_MAX (LMI_WIRE_LIMIT_LOGPROBS + 1)

/* Describes n items from that number on.  They are valid until the next change of the stream.
 * room: for lmi_svc_stream_n_logprobs() entries. */
void lmi_svc_stream_fill_items(struct lmi_wire_item *out, struct lmi_wire_token_logprob *room,
			       const struct lmi_svc_stream *s, uint64_t number, uint32_t n);
/* Returns how many log probabilities these items have together. */
uint32_t lmi_svc_stream_n_logprobs(const struct lmi_svc_stream *s, uint64_t number, uint32_t n);

/* ---- push.c: the subscriber of a stream ---- */

/* Delivers items to the subscriber if they are due. */
void lmi_svc_push_deliver(struct lmi_svc_stream *s, uint64_t now);
/* Ends the subscription, if there is one, because the stream is given up. */
void lmi_svc_push_drop(struct lmi_svc_stream *s);
/* Tells the subscriber, if there is one, that the service ended its subscription. */
void lmi_svc_push_fail(struct lmi_svc_stream *s, const struct lmd_error *err, uint32_t retry_ms);

#endif /* LLAMAD_SERVICE_STREAM_WRITER_H */
