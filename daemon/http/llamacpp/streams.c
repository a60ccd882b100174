/* SPDX-License-Identifier: MIT
 *
 * GET and DELETE /v1/stream, and POST /v1/streams/lookup: streams of requests that had the header
 * X-Conversation-Id. */
#include <inttypes.h>
#include <stdlib.h>

#include "daemon/http/exchange.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"
#include "daemon/http/replay.h"

static const char *conversation(struct lmi_http_exchange *x)
{
	const char *name = lmi_http_path_member(x, "conv_id");

	name = *name ? name : lmi_http_query(x, "conv_id");
	return name ? name : "";
}

void lmi_llamacpp_stream(struct lmi_http_exchange *x)
{
	const char *from = lmi_http_query(x, "from");
	char *end;
	uint64_t at;

	if (!from && lmi_http_replay_resume(x))
		return;
	from = from ? from : "0";
	at = strtoull(from, &end, 10);
	if (*from < '0' || *from > '9' || *end)
		lmi_http_reply_invalid(x, "from", "must be a number of bytes");
	else
		lmi_http_replay_read(x, conversation(x), at);
}

void lmi_llamacpp_stream_stop(struct lmi_http_exchange *x)
{
	lmi_http_replay_stop(x, conversation(x));
	lmi_http_reply_text(x, 204, NULL, NULL, 0);
}

void lmi_llamacpp_streams(struct lmi_http_exchange *x)
{
	const json_t *body = lmi_http_body_object(x), *names;
	struct lmi_http_replay_info info;
	struct lmi_json_text j = {0};
	const json_t *name;
	size_t i;

	if (!body)
		return;
	names = json_object_get(body, "conversation_ids");
	if (!json_is_array(names)) {
		lmi_http_reply_invalid(x, "conversation_ids", "must be an array of strings");
		return;
	}
	lmi_json_text_array(&j);
	json_array_foreach(names, i, name) {
		if (!json_is_string(name) ||
		    !lmi_http_replay_info(x, json_string_value(name), &info))
			continue;
		lmi_json_text_object(&j);
		lmi_http_json_put_text(&j, "conversation_id", json_string_value(name));
		lmi_http_json_put_bool(&j, "is_done", info.ended);
		lmi_http_json_put_int(&j, "total_bytes", (int64_t)info.n_byte);
		lmi_http_json_put_int(&j, "started_at", info.started_ms);
		lmi_http_json_put_int(&j, "completed_at", info.ended_ms);
		lmi_json_text_end(&j);
	}
	lmi_json_text_end(&j);
	lmi_http_reply(x, 200, &j);
}
