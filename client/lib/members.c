/* SPDX-License-Identifier: MIT
 *
 * Converts JSON to msgpack.  Members keep the types of the JSON values; the server checks names and
 * types, and its error messages name them. */
#include "client/lib/members.h"

#include <jansson.h>
#include <msgpack.h>
#include <string.h>

#include "client/lib/client.h"
#include "proto/buf.h"

static void pack_str(msgpack_packer *pk, const char *s, size_t n)
{
	(void)msgpack_pack_str(pk, n);
	(void)msgpack_pack_str_body(pk, s, n);
}

static bool pack_id(msgpack_packer *pk, const char *s, size_t n)
{
	struct lmi_wire_id id;

	if (!lmi_client_id(&id, s, n))
		return false;
	(void)msgpack_pack_bin(pk, sizeof(id.b));
	(void)msgpack_pack_bin_body(pk, id.b, sizeof(id.b));
	return true;
}

/* Recursive; jansson bounds the depth (JSON_PARSER_MAX_DEPTH), and the server's bound is lower. */
static void pack(msgpack_packer *pk, const char *name, json_t *v)
{
	const char *key;
	json_t *e;
	size_t i;

	switch (json_typeof(v)) {
	case JSON_OBJECT:
		(void)msgpack_pack_map(pk, json_object_size(v));
		json_object_foreach(v, key, e)
		{
			pack_str(pk, key, strlen(key));
			pack(pk, key, e);
		}
		break;
	case JSON_ARRAY:
		(void)msgpack_pack_array(pk, json_array_size(v));
		json_array_foreach(v, i, e) pack(pk, "", e);
		break;
	case JSON_STRING:
		if (strcmp(name, "id") ||
		    !pack_id(pk, json_string_value(v), json_string_length(v)))
			pack_str(pk, json_string_value(v), json_string_length(v));
		break;
	case JSON_INTEGER:
		(void)msgpack_pack_int64(pk, json_integer_value(v));
		break;
	case JSON_REAL:
		(void)msgpack_pack_double(pk, json_real_value(v));
		break;
	case JSON_TRUE:
		(void)msgpack_pack_true(pk);
		break;
	case JSON_FALSE:
		(void)msgpack_pack_false(pk);
		break;
	case JSON_NULL:
		(void)msgpack_pack_nil(pk);
		break;
	}
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

	if ((op != LMI_WIRE_OP_CANCEL && op != LMI_WIRE_OP_NEXT) || !json_is_string(v) ||
	    lmi_client_id(&id, json_string_value(v), json_string_length(v)))
		return LMD_OK;
	return lmd_fail(err, LMD_INVALID,
			"id: '%.40s' is not a stream id: it must have %zu hexadecimal digits",
			json_string_value(v), 2 * sizeof(id.b));
}

/* Appends the packed bytes to the buffer. */
static enum lmd_status take(struct lmi_wire_buf *out, msgpack_sbuffer *sb, struct lmd_error *err)
{
	enum lmd_status st = LMD_OK;

	if (!sb->data || !lmi_wire_buf_add(out, sb->data, sb->size))
		st = lmd_fail(err, LMD_NOMEM, "no memory for a request of %zu bytes", sb->size);
	msgpack_sbuffer_destroy(sb);
	return st;
}

enum lmd_status lmi_client_members_request(struct lmi_wire_buf *out, enum lmi_wire_op op,
					   const char *json, struct lmd_error *err)
{
	const struct lmi_wire_opinfo *info = &lmi_wire_ops[op];
	msgpack_sbuffer sb;
	msgpack_packer pk;
	char rid[LMI_CLIENT_IDEMPOTENCY_KEY_SIZE] = "";
	json_t *m, *v;
	const char *key;
	enum lmd_status st = parse(json, &m, err);

	if (st != LMD_OK)
		return st;
	st = check_id(op, m, err);
	if (st == LMD_OK && info->changes == LMI_WIRE_CHANGES_ONCE && !json_object_get(m, "rid"))
		st = lmi_client_idempotency_key(rid, err);
	if (st != LMD_OK)
		goto undo;
	(void)json_object_del(m, "v");
	(void)json_object_del(m, "op");
	msgpack_sbuffer_init(&sb);
	msgpack_packer_init(&pk, &sb, msgpack_sbuffer_write);
	(void)msgpack_pack_map(&pk, json_object_size(m) + (rid[0] ? 3 : 2));
	pack_str(&pk, "v", 1);
	(void)msgpack_pack_int(&pk, LMI_WIRE_V);
	pack_str(&pk, "op", 2);
	pack_str(&pk, info->name, strlen(info->name));
	if (rid[0]) {
		pack_str(&pk, "rid", 3);
		pack_str(&pk, rid, strlen(rid));
	}
	json_object_foreach(m, key, v)
	{
		pack_str(&pk, key, strlen(key));
		pack(&pk, key, v);
	}
	st = take(out, &sb, err);
undo:
	json_decref(m);
	return st;
}

enum lmd_status lmi_client_members_override(struct lmi_wire_buf *out, const void *p, size_t n,
					    const char *json, struct lmd_error *err)
{
	msgpack_unpacked u;
	msgpack_sbuffer sb;
	msgpack_packer pk;
	const msgpack_object_map *own;
	uint32_t n_kept = 0;
	json_t *m, *v;
	const char *key;
	size_t off = 0;
	enum lmd_status st = parse(json, &m, err);

	if (st != LMD_OK)
		return st;
	msgpack_unpacked_init(&u);
	/* the bytes were encoded by this process: one map with str keys */
	if (msgpack_unpack_next(&u, p, n, &off) != MSGPACK_UNPACK_SUCCESS) {
		json_decref(m);
		return lmd_fail(err, LMD_NOMEM, "no memory for a request of %zu bytes", n);
	}
	own = &u.data.via.map;
	msgpack_sbuffer_init(&sb);
	msgpack_packer_init(&pk, &sb, msgpack_sbuffer_write);
	for (uint32_t i = 0; i < own->size; i++) {
		const msgpack_object_str *k = &own->ptr[i].key.via.str;

		n_kept += !json_object_getn(m, k->ptr, k->size);
	}
	(void)msgpack_pack_map(&pk, n_kept + json_object_size(m));
	for (uint32_t i = 0; i < own->size; i++) {
		const msgpack_object_str *k = &own->ptr[i].key.via.str;

		if (!json_object_getn(m, k->ptr, k->size)) {
			pack_str(&pk, k->ptr, k->size);
			(void)msgpack_pack_object(&pk, own->ptr[i].val);
		}
	}
	json_object_foreach(m, key, v)
	{
		pack_str(&pk, key, strlen(key));
		pack(&pk, key, v);
	}
	st = take(out, &sb, err);
	msgpack_unpacked_destroy(&u);
	json_decref(m);
	return st;
}
