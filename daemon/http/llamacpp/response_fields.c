/* SPDX-License-Identifier: MIT
 *
 * The member response_fields of /completion and /infill: the client names the members of the answer that it
 * wants, such as "content" and "generation_settings/n_predict". */
#include <string.h>

#include "core/base/json_tree.h"
#include "daemon/http/llamacpp/llamacpp_impl.h"

/* Maximum number of paths, and of bytes of one. */
#define FIELDS_MAX	 64
#define FIELD_BYTES_MAX 128

void lmi_llamacpp_read_fields(struct lmi_http_translation *t, const struct lmi_http_at *at, const json_t *v)
{
	struct lmi_llamacpp_state *s = t->state;

	s->fields = lmi_http_read_strs(&t->r, at, v, FIELDS_MAX, FIELD_BYTES_MAX, &s->n_field);
}

/* Returns the value at the path, or NULL; *last is the last part of the path. */
static const struct lmi_json_node *find(const struct lmi_json_node *v, struct lmd_str path, struct lmd_str *last)
{
	const char *p = path.ptr, *end = path.ptr + path.len;

	for (;;) {
		const char *stop = memchr(p, '/', (size_t)(end - p));
		char key[FIELD_BYTES_MAX + 1];

		last->ptr = p;
		last->len = (size_t)((stop ? stop : end) - p);
		memcpy(key, p, last->len);
		key[last->len] = 0;
		v = strlen(key) == last->len ? lmi_json_node_get(v, key) : NULL;
		if (!v || !stop)
			return v;
		p = stop + 1;
	}
}

/* Of two paths with the same last part the later one counts. */
static bool is_repeated(const struct lmi_llamacpp_state *s, const struct lmi_json_node *root, uint32_t i)
{
	struct lmd_str last, later;

	(void)find(root, s->fields[i], &last);
	for (uint32_t k = i + 1; k < s->n_field; k++)
		if (find(root, s->fields[k], &later) && later.len == last.len &&
		    !memcmp(later.ptr, last.ptr, last.len))
			return true;
	return false;
}

void lmi_llamacpp_put_fields(struct lmi_json_text *out, const struct lmi_llamacpp_state *s,
			     struct lmi_json_text *answer)
{
	struct lmi_json_tree tree = {0};
	enum lmd_status st = lmi_json_text_finish(answer, NULL);

	if (st == LMD_OK)
		st = lmi_json_tree_parse(&tree, answer->text, answer->bytes, NULL, NULL);
	lmi_json_text_object(out);
	for (uint32_t i = 0; st == LMD_OK && i < s->n_field; i++) {
		struct lmd_str last;
		const struct lmi_json_node *v = find(tree.root, s->fields[i], &last);

		if (!v || is_repeated(s, tree.root, i))
			continue;
		lmi_http_json_key(out, last);
		lmi_json_text_node(out, v);
	}
	lmi_json_text_end(out);
	if (st != LMD_OK && out->status == LMD_OK)
		out->status = st;
	lmi_json_tree_fini(&tree);
	lmi_json_text_fini(answer);
}
