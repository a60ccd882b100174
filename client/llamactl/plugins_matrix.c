/* SPDX-License-Identifier: MIT
 *
 * llamactl plugins --matrix: shows which backend supports which operations and weight types. It
 * asks with the cases of `plugins test`: an operation with several kinds of arguments has several
 * cases. */
#include "client/llamactl/plugins_matrix.h"

#include <stdio.h>
#include <string.h>

#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"
#include "core/conformance/opcase.h"
#include "core/plugin/registry.h"
#include "core/quant/quant.h"

#define BACKENDS_MAX 16u
#define TEXT_BYTES   160u

struct cell {
	enum lmi_opcase_support support;
	char text[TEXT_BYTES];
};

struct matrix {
	const struct lmd_host *host;
	uint32_t n_backend, n_case, n_seen;
	char backend[BACKENDS_MAX][48];
	const char **op, **name; /* [n_case] */
	struct cell *cell;       /* [n_backend][n_case] */
	struct cell *at;         /* cells of the backend that is being asked */
};

static void no_plugin(void *arg, const struct lmi_plugin_info *p)
{
	(void)arg;
	(void)p;
}

static void find_backends(void *arg, const struct lmi_factory_info *f)
{
	struct matrix *m = arg;

	if (f->kind != LMD_KIND_BACKEND || m->n_backend == BACKENDS_MAX)
		return;
	if (f->score <= 0) {
		m->host->log(m->host->ctx, "plugins", LMD_LOG_WARN, "not in the table: %s: %s", f->name,
			     f->reason);
		return;
	}
	for (uint32_t i = 0; i < m->n_backend; i++)
		if (!strcmp(m->backend[i], f->name))
			return; /* shadowed by another file */
	(void)snprintf(m->backend[m->n_backend++], sizeof(m->backend[0]), "%s", f->name);
}

static void on_case(void *arg, const struct lmi_opcase_support_info *k)
{
	struct matrix *m = arg;
	struct cell *c = &m->at[m->n_seen];

	m->op[m->n_seen] = k->op;
	m->name[m->n_seen++] = k->name;
	c->support = k->support;
	(void)snprintf(c->text, sizeof(c->text), "%s", k->text);
}

static enum lmd_status fill_backend(struct matrix *m, struct lmi_plugin_registry *r,
				    uint32_t i, struct lmd_error *err)
{
	const struct lmi_factory *f;
	enum lmd_status st = lmi_factory_take(r, LMD_KIND_BACKEND, m->backend[i], &f, err);

	if (st != LMD_OK)
		return st;
	m->at = m->cell + (size_t)i * m->n_case;
	m->n_seen = 0;
	st = lmi_opcase_support(m->host, f, on_case, m, err);
	lmi_factory_give(r, f);
	return st;
}

/* Backends that cannot be asked, for example because they have no device here, are left out. */
static enum lmd_status fill(struct matrix *m, struct lmi_plugin_registry *r, struct lmd_error *err)
{
	uint32_t i = 0;

	while (i < m->n_backend) {
		enum lmd_status st = fill_backend(m, r, i, err);

		if (st == LMD_NOMEM)
			return st;
		if (st == LMD_OK) {
			i++;
			continue;
		}
		if (m->n_backend > 1)
			m->host->log(m->host->ctx, "plugins", LMD_LOG_WARN, "not in the table: %s",
				     err->text);
		m->n_backend--;
		memmove(m->backend[i], m->backend[i + 1],
			(m->n_backend - i) * sizeof(m->backend[0]));
	}
	return m->n_backend ? LMD_OK : err->status;
}

/* ---- printing ---- */

static bool is_type(const struct matrix *m, uint32_t i)
{
	return !strcmp(m->op[i], "linear") && lmi_dtype_by_name(m->name[i]);
}

/* Sums up all cases of an operation in one word: native, parts, no, or the number of supported
 * cases. */
static void op_word(char *out, size_t n, const struct matrix *m, uint32_t backend, uint32_t from,
		    uint32_t to)
{
	const struct cell *c = m->cell + (size_t)backend * m->n_case;
	uint32_t n_native = 0, n_parts = 0;

	for (uint32_t i = from; i < to; i++) {
		n_native += c[i].support == LMI_OPCASE_NATIVE;
		n_parts += c[i].support == LMI_OPCASE_PARTS;
	}
	if (n_native + n_parts == to - from)
		(void)snprintf(out, n, "%s", !n_parts ? "native" : n_native ? "mixed" : "parts");
	else if (n_native + n_parts)
		(void)snprintf(out, n, "%u/%u", n_native + n_parts, to - from);
	else
		(void)snprintf(out, n, "no");
}

static void print_cell(const struct matrix *m, uint32_t backend, const char *text)
{
	printf("  %-*s", backend + 1 < m->n_backend ? 8 : 0, text);
}

static void row(const struct matrix *m, const char *what, uint32_t from, uint32_t to)
{
	char word[32];

	printf("%-12s", what);
	for (uint32_t b = 0; b < m->n_backend; b++) {
		op_word(word, sizeof(word), m, b, from, to);
		print_cell(m, b, word);
	}
	putchar('\n');
}

static void head(const struct matrix *m, const char *what)
{
	printf("%-12s", what);
	for (uint32_t b = 0; b < m->n_backend; b++)
		print_cell(m, b, m->backend[b]);
	putchar('\n');
}

/* What backends say about operations that they have. */
static void print_remarks(const struct matrix *m, uint32_t backend)
{
	const struct cell *c = m->cell + (size_t)backend * m->n_case;
	const char *op = "";

	for (uint32_t i = 0; i < m->n_case; i++) {
		if (c[i].support != LMI_OPCASE_NATIVE || !c[i].text[0] || !strcmp(op, m->op[i]))
			continue;
		op = m->op[i];
		printf("\n%s, %s: %s\n", m->backend[backend], op, c[i].text);
	}
}

static void print_text(const struct matrix *m)
{
	head(m, "OP");
	for (uint32_t i = 0, j; i < m->n_case; i = j) {
		for (j = i + 1; j < m->n_case && !strcmp(m->op[i], m->op[j]); j++)
			;
		row(m, m->op[i], i, j);
	}
	putchar('\n');
	head(m, "WEIGHTS");
	for (uint32_t i = 0; i < m->n_case; i++)
		if (is_type(m, i))
			row(m, m->name[i], i, i + 1);
	for (uint32_t b = 0; b < m->n_backend; b++)
		print_remarks(m, b);
}

static void print_json(const struct matrix *m)
{
	static const char *const word[] = {"native", "parts", "no", "broken"};
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_array(&j, NULL);
	for (uint32_t i = 0; i < m->n_case; i++) {
		lmi_ctl_json_object(&j, NULL);
		lmi_ctl_json_str(&j, "op", m->op[i]);
		lmi_ctl_json_str(&j, "case", m->name[i]);
		lmi_ctl_json_str(&j, "weights", is_type(m, i) ? m->name[i] : "");
		lmi_ctl_json_array(&j, "backends");
		for (uint32_t b = 0; b < m->n_backend; b++) {
			const struct cell *c = &m->cell[(size_t)b * m->n_case + i];

			lmi_ctl_json_flat_object(&j, NULL);
			lmi_ctl_json_str(&j, "backend", m->backend[b]);
			lmi_ctl_json_str(&j, "support", word[c->support]);
			lmi_ctl_json_str(&j, "reason", c->text);
			lmi_ctl_json_end(&j);
		}
		lmi_ctl_json_end(&j);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

enum lmd_status lmi_ctl_plugins_matrix(struct lmi_ctl *ctl, struct lmi_plugin_registry *r,
				       struct lmd_error *err)
{
	struct matrix m = {.n_case = lmi_opcase_count(NULL) + LMI_OPCASE_N_COLLECTIVE};
	enum lmd_status st = lmi_ctl_host(ctl, &m.host, err);

	if (st != LMD_OK)
		return st;
	lmi_plugin_registry_list(r, no_plugin, find_backends, &m);
	if (!m.n_backend)
		return lmd_fail(err, LMD_NOTFOUND, "no backend can run on this machine");
	m.op = lmi_alloc(m.n_case, sizeof(*m.op));
	m.name = lmi_alloc(m.n_case, sizeof(*m.name));
	m.cell = lmi_alloc((size_t)m.n_backend * m.n_case, sizeof(*m.cell));
	st = m.op && m.name && m.cell ? fill(&m, r, err)
				      : lmd_fail(err, LMD_NOMEM, "no memory for a table");
	if (st == LMD_OK && lmi_arg_flag(&ctl->args, "json"))
		print_json(&m);
	else if (st == LMD_OK)
		print_text(&m);
	lmi_free(m.cell);
	lmi_free(m.name);
	lmi_free(m.op);
	return st;
}
