/* SPDX-License-Identifier: MIT
 *
 * durable_fixture.h - a service with durable streams, and their files, for tests.
 *
 * A crash is made of a copy of the file: the service is destroyed, the file gets the bytes that it
 * had at the moment of the crash, and another service starts. */
#ifndef LLAMAD_SERVICE_DURABLE_FIXTURE_H
#define LLAMAD_SERVICE_DURABLE_FIXTURE_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service/durable.h"
#include "service/service_state.h"
#include "tests/service_fixture.h"

#define FILE_MAX_BYTES 65536

static struct fx fx;
static char dir[300], path[600], expected[8192], text[8192];
static char image[FILE_MAX_BYTES]; /* of the file */
static size_t n_image;

static void set_up(void)
{
	fx_init(&fx);
	snprintf(dir, sizeof(dir), "%.280s/streams", fx.dir);
	fx.o.journals = fx.journals;
	fx.o.journal_dir = dir;
}

static void tear_down(void)
{
	fx_fini(&fx);
}

/* ---- files ---- */

/* Returns the number of files, and the path of one in `path`. */
static uint32_t n_files(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	uint32_t n = 0;

	while (d && (e = readdir(d))) {
		if (*e->d_name == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%.200s", dir, e->d_name);
		n++;
	}
	if (d)
		closedir(d);
	return n;
}

static void save(void)
{
	FILE *f;

	ck_assert_uint_eq(n_files(), 1);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	n_image = fread(image, 1, sizeof(image), f);
	ck_assert_uint_lt(n_image, sizeof(image));
	fclose(f);
}

/* Makes the first n bytes of the image the file. */
static void restore(size_t n)
{
	FILE *f;

	(void)mkdir(dir, 0700);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(image, 1, n, f), n);
	ck_assert_int_eq(fclose(f), 0);
}

/* The service takes the time of the clock; the test goes on from there. */
static void start(void)
{
	fx_start(&fx);
	fx.now = fx.env.host->now_ns(fx.env.host->ctx);
}

static void stop(void)
{
	fx_answer_fini(&fx.a);
	lmi_service_destroy(fx.svc);
	fx.svc = NULL;
}

/* ---- streams ---- */

static struct lmi_wire_request durable(const char *prompt, int64_t n)
{
	struct lmi_wire_request q = fx_generate(&fx, "tiny", prompt, n);

	q.u.generate.durable = true;
	return q;
}

static struct lmi_wire_id begin(const struct lmi_svc_principal *who, const char *prompt, int64_t n)
{
	struct lmi_wire_request q = durable(prompt, n);

	fx_expect(prompt, (uint32_t)n, expected);
	ck_assert_msg(fx_call(&fx, who, &q), "%s", fx.a.err.text);
	return fx.a.r.u.generate.id;
}

static void check_text(const struct lmi_svc_principal *who, const struct lmi_wire_id *id, uint32_t n)
{
	struct lmi_wire_item last = fx_read(&fx, who, id, text, sizeof(text));

	ck_assert_msg(last.kind == LMI_WIRE_ITEM_DONE, "item of kind %d: %.*s", (int)last.kind,
		      (int)last.u.error.text.len, last.u.error.text.ptr);
	ck_assert_str_eq(text, expected);
	ck_assert_int_eq(last.u.done.n_out, n);
	ck_assert_int_eq(last.u.done.finish, LMI_WIRE_FINISH_LENGTH);
}

static void tick(void)
{
	(void)fx_job(&fx);
	fx_turn(&fx);
	fx.now += FX_MS;
}

#endif /* LLAMAD_SERVICE_DURABLE_FIXTURE_H */
