/* SPDX-License-Identifier: MIT */
#include "service/journal.h"

#include <string.h>

#include "core/base/siphash.h"
#include "proto/buf.h"

static const char magic[8] = {'l', 'm', 'd', 'j', 'r', 'n', 'l', '1'};

#define HEAD_BYTES 12u

/* ---- records as bytes ---- */

bool lmi_svc_journal_begin(struct lmi_wire_buf *out)
{
	return lmi_wire_buf_add(out, magic, sizeof(magic));
}

static uint64_t checksum(uint64_t at, const void *record, size_t n)
{
	const uint64_t key[2] = {at, n};

	return lmi_siphash(key, record, n);
}

bool lmi_svc_journal_add(struct lmi_wire_buf *out, uint64_t at, const void *record, size_t n)
{
	uint8_t head[HEAD_BYTES];
	size_t before = out->n;

	lmi_put_le32(head, (uint32_t)n);
	lmi_put_le64(head + 4, checksum(at + before, record, n));
	if (n <= LMI_SVC_JOURNAL_RECORD_MAX && lmi_wire_buf_add(out, head, sizeof(head)) &&
	    lmi_wire_buf_add(out, record, n))
		return true;
	out->n = before;
	return false;
}

bool lmi_svc_journal_next(const char *part, size_t n, uint64_t base, size_t *at,
			  struct lmd_str *record)
{
	size_t from = *at;
	uint32_t len;

	if (!(base + from)) {
		if (n < sizeof(magic) || memcmp(part, magic, sizeof(magic)) != 0)
			return false;
		from = sizeof(magic);
	}
	if (n - from < HEAD_BYTES)
		return false;
	len = lmi_get_le32(part + from);
	if (len > LMI_SVC_JOURNAL_RECORD_MAX || len > n - from - HEAD_BYTES ||
	    lmi_get_le64(part + from + 4) != checksum(base + from, part + from + HEAD_BYTES, len))
		return false;
	*record = (struct lmd_str){.ptr = part + from + HEAD_BYTES, .len = len};
	*at = from + HEAD_BYTES + len;
	return true;
}

/* ---- members ---- */

/* Writes members or reads them, in the same order: one function describes each kind. */
struct members {
	struct lmi_wire_buf *out; /* NULL: reads */
	const char *p, *end;
	bool bad;
};

static void bytes(struct members *m, void *v, size_t n)
{
	if (m->out) {
		m->bad |= !lmi_wire_buf_add(m->out, v, n);
	} else if (m->bad || (size_t)(m->end - m->p) < n) {
		m->bad = true;
	} else {
		memcpy(v, m->p, n);
		m->p += n;
	}
}

static void number64(struct members *m, uint64_t *v)
{
	uint8_t b[8];

	lmi_put_le64(b, *v);
	bytes(m, b, sizeof(b));
	*v = lmi_get_le64(b);
}

static void number(struct members *m, uint32_t *v)
{
	uint8_t b[4];

	lmi_put_le32(b, *v);
	bytes(m, b, sizeof(b));
	*v = lmi_get_le32(b);
}

static void flag(struct members *m, bool *v)
{
	uint8_t b = *v;

	bytes(m, &b, 1);
	m->bad |= b > 1;
	*v = b == 1;
}

/* n: the number of items of `size` bytes at p. */
static void array(struct members *m, const void **p, uint32_t *n, size_t size)
{
	number(m, n);
	if (m->bad)
		return;
	if (m->out) {
		m->bad |= *n && !lmi_wire_buf_add(m->out, *p, *n * size);
	} else if ((size_t)(m->end - m->p) / size < *n) {
		m->bad = true;
	} else {
		*p = m->p;
		m->p += *n * size;
	}
}

static void text(struct members *m, struct lmd_str *s)
{
	uint32_t n = (uint32_t)s->len;
	const void *p = s->ptr;

	array(m, &p, &n, 1);
	*s = (struct lmd_str){.ptr = p, .len = n};
}

/* ---- kinds ---- */

/* Members that earlier versions did not write come last. */
static bool is_there(const struct members *m)
{
	return m->out || m->p < m->end;
}

static void head(struct members *m, struct lmi_svc_journal_head *h)
{
	uint32_t role = h->principal.role;

	bytes(m, h->id, sizeof(h->id));
	number(m, &h->principal.uid);
	number(m, &h->principal.gid);
	number(m, &role);
	flag(m, &h->principal.remote);
	bytes(m, h->principal.key_label, sizeof(h->principal.key_label));
	m->bad |= role > LMI_SVC_ROLE_ADMIN;
	h->principal.role = (enum lmi_svc_role)role;
	h->principal.key_label[sizeof(h->principal.key_label) - 1] = 0;
	number64(m, &h->seed);
	text(m, &h->key);
	text(m, &h->digest);
	text(m, &h->request);
	if (is_there(m))
		text(m, &h->note);
}

static void start(struct members *m, struct lmi_svc_journal_start *s)
{
	const void *sampling = s->sampling, *tokens = s->tokens;

	text(m, &s->request);
	text(m, &s->adapter);
	text(m, &s->format);
	flag(m, &s->tools);
	flag(m, &s->thinks);
	array(m, &sampling, &s->n_sampling, sizeof(*s->sampling));
	array(m, &tokens, &s->n_tokens, sizeof(*s->tokens));
	s->sampling = sampling;
	s->tokens = tokens;
}

static void token(struct members *m, struct lmi_svc_journal_token *t, bool only_text)
{
	uint32_t id = (uint32_t)t->token;

	if (!only_text) {
		number(m, &id);
		number(m, &t->n_logprobs);
		text(m, &t->logprobs);
		t->token = (lmd_token)id;
	}
	text(m, &t->text);
}

static void end(struct members *m, struct lmi_svc_end *e)
{
	uint32_t kind = e->kind, status = e->error.status;
	uint32_t *const counts[] = {&e->why,	   &e->n_prompt,    &e->n_cached,  &e->n_out,
				    &e->n_forced,  &e->n_reasoning, &e->n_drafted, &e->n_accepted,
				    &e->n_shift,   &e->broke_at,    &e->n_pinned};

	number(m, &kind);
	m->bad |= kind > LMI_SVC_END_CANCELLED;
	e->kind = (enum lmi_svc_end_kind)kind;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		number(m, counts[i]);
	number64(m, &e->prompt_ns);
	number64(m, &e->out_ns);
	number(m, &status);
	e->error.status = (enum lmd_status)status;
	bytes(m, e->error.text, sizeof(e->error.text));
	e->error.text[sizeof(e->error.text) - 1] = 0;
	if (is_there(m))
		number(m, &e->n_saved);
}

static void members(struct members *m, struct lmi_svc_journal_record *r)
{
	uint8_t kind = (uint8_t)r->kind;

	bytes(m, &kind, 1);
	r->kind = (enum lmi_svc_journal_kind)kind;
	switch (r->kind) {
	case LMI_SVC_JOURNAL_HEAD:
		head(m, &r->u.head);
		return;
	case LMI_SVC_JOURNAL_START:
		start(m, &r->u.start);
		return;
	case LMI_SVC_JOURNAL_TOKEN:
	case LMI_SVC_JOURNAL_TEXT:
		token(m, &r->u.token, r->kind == LMI_SVC_JOURNAL_TEXT);
		return;
	case LMI_SVC_JOURNAL_END:
		end(m, &r->u.end);
		return;
	case LMI_SVC_JOURNAL_READ:
		return;
	}
	m->bad = true;
}

bool lmi_svc_journal_put(struct lmi_wire_buf *out, uint64_t at, struct lmi_wire_buf *scratch,
			 const struct lmi_svc_journal_record *r)
{
	struct lmi_svc_journal_record copy = *r;
	struct members m = {.out = scratch};

	scratch->n = 0;
	members(&m, &copy);
	return !m.bad && lmi_svc_journal_add(out, at, scratch->p, scratch->n);
}

bool lmi_svc_journal_read(const char *part, size_t n, uint64_t base, size_t *at,
			  struct lmi_svc_journal_record *out)
{
	struct lmi_svc_journal_record r = {0};
	struct members m = {0};
	struct lmd_str record;
	size_t next = *at;

	if (!lmi_svc_journal_next(part, n, base, &next, &record))
		return false;
	m.p = record.ptr;
	m.end = record.ptr + record.len;
	members(&m, &r);
	if (m.bad || m.p != m.end)
		return false;
	*out = r;
	*at = next;
	return true;
}
