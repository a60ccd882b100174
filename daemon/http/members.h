/* SPDX-License-Identifier: MIT
 *
 * members.h - the members of request bodies as tables.
 *
 * Each API has a table with a row for each member that it knows.  A row names the field of op
 * generate that takes the value, or a function that reads it, or says that the member is accepted
 * without effect, or why it is refused.  Bounds come from the protocol's own tables.  A member that
 * is null counts as absent, whatever its row says. */
#ifndef LLAMAD_DAEMON_HTTP_MEMBERS_H
#define LLAMAD_DAEMON_HTTP_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/http/generation.h"
#include "daemon/http/json_body.h"
#include "proto/proto.h"

struct lmi_http_members;

/* How the model may use tools. */
enum lmi_http_tool_choice {
	LMI_HTTP_TOOLS_AUTO,     /* as it likes */
	LMI_HTTP_TOOLS_NONE,     /* not at all */
	LMI_HTTP_TOOLS_REQUIRED, /* it must call at least one */
};

/* A translation in progress: what the rows of a table fill in. */
struct lmi_http_translation {
	struct lmi_http_reader r;
	struct lmi_http_generation *out;
	struct lmi_wire_req_generate *q; /* of out */
	void *state;                     /* of the API's form */
	json_t *template_args;           /* owned; NULL: none */
	/* Tools in the form of the chat completions API, owned; NULL: none. */
	json_t *tools;
	enum lmi_http_tool_choice tool_choice;
	struct lmd_str tool_name; /* the only tool that may be called; empty: any */
	bool one_call;            /* an answer that must be a call has only one */
};

struct lmi_http_member {
	const char *name;
	const char *wire; /* the field of op generate that takes the value; NULL: none */
	void (*read)(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v);
	/* Why the member is refused unless it is false, 0 or empty; NULL: it is not.  A member with
	 * neither `wire`, `read` nor `refused` is accepted and has no effect. */
	const char *refused;
};

struct lmi_http_members {
	const struct lmi_http_member *v; /* [n] */
	uint32_t n;
	/* A table that is searched for members that are not in this one; NULL: none. */
	const struct lmi_http_members *more;
	bool clamp;          /* numbers beyond their bounds become the bound */
	bool ignore_unknown; /* a member that is in no table is ignored instead of refused */
	/* What the API says of such a member, followed by its name if it ends in a blank; NULL: the
	 * default. */
	const char *unknown;
};

/* Prepares a translation; out->req becomes a request of op generate with its defaults. */
void lmi_http_translation_init(struct lmi_http_translation *t, struct lmi_http_generation *out,
			       struct lmd_arena *arena, struct lmd_error *err);
/* Frees what the translation owns.  Sets *param and returns the status; if a limit of the protocol
 * is exceeded that no row checks, this finds it. */
enum lmd_status lmi_http_translation_end(struct lmi_http_translation *t, const char **param);

/* Reads the members of an object. */
void lmi_http_members_read(struct lmi_http_translation *t, const struct lmi_http_at *at,
			   const json_t *object, const struct lmi_http_members *members);
/* Reads one value into a field of op generate. */
void lmi_http_wire_read(struct lmi_http_translation *t, const struct lmi_http_at *at,
			const json_t *v, const char *field, bool clamp);

/* Sampling parameters under the names of llama.cpp and vLLM, for several APIs. */
extern const struct lmi_http_members lmi_http_sampling_members;

#endif /* LLAMAD_DAEMON_HTTP_MEMBERS_H */
