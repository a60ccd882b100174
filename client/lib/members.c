/* SPDX-License-Identifier: MIT
 *
 * Encodes JSON as members of a request.  They keep the types of the JSON values; the server checks
 * names and types, and its error messages name them. */
#include "client/lib/members.h"

#include <jansson.h>
#include <msgpack/pack.h>
#include <string.h>

#include "client/lib/client.h"
#include "core/base/alloc.h"
#include "proto/buf.h"

static int pack_str(msgpack_packer *pk, const char *s, size_t n)
{
	return msgpack_pack_str(pk, n) || msgpack_pack_str_body(pk, s, n);
}

/* Under the name "id", 32 hexadecimal digits become the bytes of an id. */
static int pack_text(msgpack_packer *pk, const char *name, const char *s, size_t n)
{
	struct lmi_wire_id id;

	if (strcmp(name, "id") || !lmi_client_id(&id, s, n))
		return pack_str(pk, s, n);
	return msgpack_pack_bin(pk, sizeof(id.b)) || msgpack_pack_bin_body(pk, id.b, sizeof(id.b));
}

/* Returns 0 on success.  Recursive; jansson bounds the depth (JSON_PARSER_MAX_DEPTH), and the
 * server's bound is lower. */
static int pack(msgpack_packer *pk, const char *name, json_t *v)
{
	const char *key;
	json_t *e;
	size_t i;
	int failed;

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		failed = msgpack_pack_map(pk, json_object_size(v));
		json_object_foreach(v, key, e)
			failed = failed || pack_str(pk, key, strlen(key)) || pack(pk, key, e);
		return failed;
	case JSON_ARRAY:
		failed = msgpack_pack_array(pk, json_array_size(v));
		json_array_foreach(v, i, e)
			failed = failed || pack(pk, "", e);
		return failed;
	case JSON_STRING:
		return pack_text(pk, name, json_string_value(v), json_string_length(v));
	case JSON_INTEGER:
		return msgpack_pack_int64(pk, json_integer_value(v));
	case JSON_REAL:
		return msgpack_pack_double(pk, json_real_value(v));
	case JSON_TRUE:
		return msgpack_pack_true(pk);
	case JSON_FALSE:
		return msgpack_pack_false(pk);
	case JSON_NULL:
		return msgpack_pack_nil(pk);
	}
	return -1;
}

static enum lmd_status parse(const char *json, json_t **out, struct lmd_error *err)
{
	json_error_t e;

	*out = json ? json_loads(json, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e) : json_object();
	if (*out && json_is_object(*out))
		return LMD_OK;
	json_decref(*out);
	if (!json)
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	if (!*out)
		return lmd_fail(err, LMD_INVALID, "members of a request: byte %d: %s", e.position,
				e.text);
	return lmd_fail(err, LMD_INVALID, "members of a request: not a JSON object");
}

/* Checks the id of a stream here, since the server's error would be about its encoded bytes. */
static enum lmd_status check_id(enum lmi_wire_op op, const json_t *m, struct lmd_error *err)
{
	const json_t *v = json_object_get(m, "id");
	struct lmi_wire_id id;

	if ((op != LMI_WIRE_OP_CANCEL && op != LMI_WIRE_OP_NEXT && op != LMI_WIRE_OP_PAUSE &&
	     op != LMI_WIRE_OP_UNPAUSE && op != LMI_WIRE_OP_REPLAY &&
	     op != LMI_WIRE_OP_REPLAY_INFO) ||
	    !json_is_string(v) ||
	    lmi_client_id(&id, json_string_value(v), json_string_length(v)))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"id: '%.40s' is not a stream id: it must have %zu hexadecimal digits",
			json_string_value(v), 2 * sizeof(id.b));
}

static int add_bytes(void *buf, const char *p, size_t n)
{
	return lmi_wire_buf_add(buf, p, n) ? 0 : -1;
}

/* Encodes the members; the names point into them. */
static enum lmd_status encode(struct lmi_wire_members *out, json_t *m, struct lmd_error *err)
{
	struct lmd_str *names = lmi_alloc(json_object_size(m) + 1, sizeof(*names));
	msgpack_packer pk;
	const char *key;
	json_t *v;

	*out = (struct lmi_wire_members){.names = names};
	if (!names)
		return lmd_fail(err, LMD_NOMEM, "no memory for a request");
	msgpack_packer_init(&pk, &out->pairs, add_bytes);
	json_object_foreach(m, key, v)
	{
		names[out->n++] = (struct lmd_str){.ptr = key, .len = strlen(key)};
		if (pack_str(&pk, key, strlen(key)) || pack(&pk, key, v))
			return lmd_fail(err, LMD_NOMEM, "no memory for a request of %zu bytes",
					out->pairs.n);
	}
	return LMD_OK;
}

enum lmd_status lmi_client_members_encode(struct lmi_wire_buf *out, struct lmi_wire_request *req,
					  const char *json, bool only, struct lmd_error *err)
{
	struct lmi_wire_members members = {0};
	char rid[LMI_CLIENT_IDEMPOTENCY_KEY_SIZE];
	json_t *m;
	enum lmd_status st = parse(json, &m, err);

	if (st != LMD_OK)
		return st;
	(void)json_object_del(m, "v");
	(void)json_object_del(m, "op");
	st = check_id(req->op, m, err);
	if (st == LMD_OK && lmi_wire_ops[req->op].changes == LMI_WIRE_CHANGES_ONCE) {
		st = lmi_client_idempotency_key(rid, err);
		req->rid = (struct lmd_str){.ptr = rid, .len = sizeof(rid) - 1};
	}
	if (st == LMD_OK)
		st = encode(&members, m, err);
	if (st == LMD_OK)
		st = lmi_wire_request_encode_with(out, req, &members, only, err);
	req->rid = (struct lmd_str){0};
	lmi_wire_buf_fini(&members.pairs);
	lmi_free((void *)members.names);
	json_decref(m);
	return st;
}
