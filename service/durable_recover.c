/* SPDX-License-Identifier: MIT
 *
 * Continues the durable streams of an earlier run, before any client can ask for them.
 *
 * A file is a beginning of what was written, so that all of its whole records are taken and the rest
 * is cut off.  Its items need no model; a generation without an end is then looked up, loaded and
 * queued like a new one, and clients wait for its next item meanwhile. */
#include "service/durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/clock.h"
#include "service/generate_work.h"
#include "service/quota.h"
#include "service/service_state.h"

#define SUFFIX ".journal"

#define LOG(svc, level, ...)                                                                       \
	((svc)->o.host->log((svc)->o.host->ctx, "durable", (level), __VA_ARGS__))

/* A file that is read. */
struct journal {
	const char *bytes; /* mapped */
	size_t n, valid;   /* valid: up to the end of the last whole record */
	struct lmi_svc_journal_head head;
	struct lmd_str request; /* with what was decided, if that is known */
	bool has_head, has_end, was_read;
};

static void scan(struct journal *j)
{
	struct lmi_svc_journal_record r;

	while (!j->was_read && lmi_svc_journal_read(j->bytes, j->n, 0, &j->valid, &r)) {
		if (!j->has_head && r.kind != LMI_SVC_JOURNAL_HEAD)
			return;
		if (r.kind == LMI_SVC_JOURNAL_HEAD) {
			j->has_head = true;
			j->head = r.u.head;
			j->request = r.u.head.request;
		} else if (r.kind == LMI_SVC_JOURNAL_START) {
			j->request = r.u.start.request;
		}
		j->has_end |= r.kind == LMI_SVC_JOURNAL_END;
		j->was_read = r.kind == LMI_SVC_JOURNAL_READ;
	}
}

/* Returns whether `name` is that of a stream's file; its id. */
static bool parse_name(const char *name, uint8_t id[LMI_SVC_ID_BYTES])
{
	if (strlen(name) != 2 * LMI_SVC_ID_BYTES + strlen(SUFFIX) ||
	    strcmp(name + 2 * LMI_SVC_ID_BYTES, SUFFIX) != 0 ||
	    strspn(name, "0123456789abcdef") != 2 * LMI_SVC_ID_BYTES)
		return false;
	for (size_t i = 0; i < LMI_SVC_ID_BYTES; i++) {
		unsigned v;

		(void)sscanf(name + 2 * i, "%2x", &v);
		id[i] = (uint8_t)v;
	}
	return true;
}

/* Returns why the stream is dropped, or NULL. */
static const char *refusal(const struct lmi_service *svc, const struct journal *j,
			   const struct stat *sb, const uint8_t id[LMI_SVC_ID_BYTES])
{
	const struct lmi_svc_principal *p = &j->head.principal;
	int64_t now = svc->hooks.wall_ns ? svc->hooks.wall_ns(svc->hooks.arg) : 0;
	int64_t then = (int64_t)sb->st_mtim.tv_sec * 1000000000 + sb->st_mtim.tv_nsec;
	const char *key = lmi_svc_quota_key(svc, p);

	if (!j->has_head || memcmp(j->head.id, id, LMI_SVC_ID_BYTES) != 0)
		return "its beginning is damaged";
	if (svc->n_durable >= LMI_SVC_DURABLE_MAX)
		return "there are too many";
	if (now > then && (uint64_t)(now - then) > svc->limits.durable_age_ms * LMI_NS_PER_MS)
		return "nobody has read it for longer than durable_age";
	if (*p->key_label && (strlen(key) != j->head.key.len ||
			      memcmp(key, j->head.key.ptr, j->head.key.len) != 0))
		return "its API key was removed";
	return NULL;
}

/* Lets a repetition of the request find the stream. */
static void remember(struct lmi_service *svc, const struct journal *j,
		     const struct lmi_svc_stream *s, const struct lmd_str *rid)
{
	struct lmi_svc_idempotency_key *key;
	bool is_new;

	if (!rid->len ||
	    lmi_svc_idempotency_key_take(
		    &svc->idempotency_keys, &key, &is_new, &s->owner, LMI_WIRE_OP_GENERATE, rid,
		    lmi_svc_idempotency_key_digest(j->head.request.ptr, j->head.request.len),
		    svc->now, NULL) != LMD_OK ||
	    !is_new)
		return;
	key->answered = true;
	key->reply.number = (int64_t)j->head.seed;
	memcpy(key->reply.id, s->id, sizeof(s->id));
}

/* Makes the stream, with a generation unless it has ended. */
static enum lmd_status create(struct lmi_svc_request *a, const struct journal *j,
			      struct lmi_svc_generation **g, struct lmi_svc_stream **s,
			      struct lmd_error *err)
{
	const struct lmi_wire_req_generate *q = &a->req->u.generate;
	struct lmi_svc_stream_writer none = {0};
	enum lmd_status st;

	*g = NULL;
	if (j->has_end) {
		st = lmi_svc_stream_begin(a, &none, LMI_WIRE_STREAM_KIND_GENERATE, &q->model,
					  lmi_svc_gen_lease_ms(a->svc, q), err);
		*s = none.stream;
	} else {
		st = lmi_svc_gen_create_again(g, a, &j->head, err);
		*s = st == LMD_OK ? (*g)->writer.stream : NULL;
	}
	if (st == LMD_OK && j->has_end)
		lmi_svc_stream_set_id(&a->svc->streams, *s, j->head.id);
	return st;
}

static enum lmd_status go_on(struct lmi_service *svc, const struct journal *j,
			     struct lmd_arena *arena, struct lmd_error *err)
{
	struct lmi_svc_request a = {.svc = svc, .now = svc->now, .principal = j->head.principal};
	struct lmi_wire_request message;
	struct lmi_svc_generation *g;
	struct lmi_svc_durable *d;
	struct lmi_svc_stream *s;
	enum lmd_status st =
		lmi_wire_request_decode(&message, j->request.ptr, j->request.len, arena, err);

	if (st == LMD_OK && message.op != LMI_WIRE_OP_GENERATE)
		st = lmd_fail(err, LMD_CORRUPT, "the request is not of op generate");
	a.req = &message;
	if (st == LMD_OK)
		st = create(&a, j, &g, &s, err);
	if (st != LMD_OK)
		return st;
	d = lmi_svc_durable_create(s, svc, &j->head.principal);
	if (!d) {
		s->given_up = true;
		if (g)
			lmi_svc_gen_cancel(&g->writer, svc->now, LMI_WIRE_CANCEL_REASON_GONE);
		else
			lmi_svc_stream_drop(svc, s);
		return lmd_fail(err, LMD_NOMEM, "no memory for a durable stream");
	}
	d->generation = g;
	if (g) {
		g->durable = d;
	} else {
		s->writer = &d->writer;
		d->writer.stream = s;
	}
	s->own_lease = true;
	(void)snprintf(d->digest, sizeof(d->digest), "%.*s", (int)j->head.digest.len,
		       j->head.digest.ptr);
	d->principal = j->head.principal;
	d->seed = j->head.seed;
	d->note = j->head.note.len ? lmi_strndup(j->head.note.ptr, j->head.note.len) : NULL;
	d->n_note = d->note ? j->head.note.len : 0;
	d->at = d->bytes = j->valid;
	svc->durable_bytes += j->valid;
	/* what a client has read is there once more; the bound holds for what comes now */
	s->out.max_bytes = UINT64_MAX;
	(void)lmi_svc_durable_deliver(d, svc->now, j->bytes, j->valid, 0);
	s->out.max_bytes = lmi_svc_output_memory(&s->out) + svc->limits.stream_bytes;
	remember(svc, j, s, &message.rid);
	d->was_read = s->read_out = j->was_read && s->out.ended;
	if (s->read_out)
		lmi_svc_durable_set_read(d);
	if (d->generation)
		lmi_svc_gen_look_up(g, svc->now);
	return LMD_OK;
}

/* What becomes of a file.  One whose trouble is that of the system, such as too little memory, stays
 * for the next start. */
enum outcome { GOES_ON, REMOVED, LEFT };

static bool is_of_file(enum lmd_status st)
{
	return st != LMD_NOMEM && st != LMD_IO && st != LMD_BUSY;
}

static enum outcome recover(struct lmi_service *svc, int dir, const char *name,
			    const uint8_t id[LMI_SVC_ID_BYTES])
{
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool leave = fd < 0 && errno != ELOOP;
	struct lmd_arena *arena = lmi_arena_create(0);
	const char *why = NULL;
	struct journal j = {.bytes = ""};
	struct lmd_error err;
	struct stat sb;
	void *map = MAP_FAILED;

	if (fd < 0)
		why = strerror(errno);
	else if (fstat(fd, &sb) || !S_ISREG(sb.st_mode))
		why = "it is not a regular file";
	else if (sb.st_size > 0)
		map = mmap(NULL, (size_t)sb.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (!why && (!arena || (sb.st_size > 0 && map == MAP_FAILED))) {
		leave = true;
		why = "out of memory";
	}
	if (map != MAP_FAILED) {
		j.bytes = map;
		j.n = (size_t)sb.st_size;
		scan(&j);
	}
	if (!why)
		why = refusal(svc, &j, &sb, id);
	if (!why && j.valid < j.n) {
		LOG(svc, LMD_LOG_WARN,
		    "%s: its last %zu bytes are damaged or incomplete and were cut off", name,
		    j.n - j.valid);
		if (ftruncate(fd, (off_t)j.valid)) {
			leave = true;
			why = "it cannot be cut off";
		}
	}
	if (!why && go_on(svc, &j, arena, &err) != LMD_OK) {
		leave = !is_of_file(err.status);
		why = err.text;
	}
	if (why)
		LOG(svc, LMD_LOG_WARN, "%s %s: %s", name,
		    leave ? "stays for the next start" : "was removed", why);
	if (why && !leave)
		(void)unlinkat(dir, name, 0);
	if (map != MAP_FAILED)
		(void)munmap(map, (size_t)sb.st_size);
	if (fd >= 0)
		close(fd);
	lmi_arena_destroy(arena);
	return !why ? GOES_ON : leave ? LEFT : REMOVED;
}

void lmi_svc_durables_recover(struct lmi_service *svc, uint64_t now)
{
	bool off = !svc->limits.durable_streams;
	uint32_t n[3] = {0};
	struct dirent *e;
	DIR *dir;

	svc->now = now;
	if (!off && mkdir(svc->o.journal_dir, 0700) && errno != EEXIST)
		LOG(svc, LMD_LOG_ERROR, "%s: cannot create the folder: %s", svc->o.journal_dir,
		    strerror(errno));
	dir = opendir(svc->o.journal_dir);
	while (dir && (e = readdir(dir))) {
		uint8_t id[LMI_SVC_ID_BYTES];

		if (!parse_name(e->d_name, id))
			continue;
		n[off ? REMOVED : recover(svc, dirfd(dir), e->d_name, id)]++;
		if (off)
			(void)unlinkat(dirfd(dir), e->d_name, 0);
	}
	if (dir)
		closedir(dir);
	if (n[GOES_ON] || n[REMOVED] || n[LEFT])
		LOG(svc, LMD_LOG_INFO,
		    "%u durable streams of an earlier run go on, %u were removed, %u stay for the next "
		    "start",
		    n[GOES_ON], n[REMOVED], n[LEFT]);
}
