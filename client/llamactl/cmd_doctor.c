/* SPDX-License-Identifier: MIT
 *
 * llamactl doctor: looks at everything that llamad needs, and says what to do where something is
 * missing. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/llamactl/health.h"
#include "client/llamactl/json_out.h"
#include "core/base/alloc.h"

struct lmi_ctl_finding *lmi_ctl_health_add(struct lmi_ctl_health *h,
					   enum lmi_ctl_health_state state, const char *subject,
					   const char *fmt, ...)
{
	static struct lmi_ctl_finding none;
	struct lmi_ctl_finding *f = h->n < LMI_CTL_FINDINGS_MAX ? &h->v[h->n] : &none;
	va_list ap;

	if (f == &none)
		h->n_dropped++;
	else
		h->n++;
	*f = (struct lmi_ctl_finding){.state = state, .subject = subject};
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	return f;
}

void lmi_ctl_health_type(struct lmi_ctl_finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->type, sizeof(f->type), fmt, ap);
	va_end(ap);
}

void lmi_ctl_health_check(struct lmi_ctl_health *h, struct lmi_ctl *ctl)
{
	*h = (struct lmi_ctl_health){.ctl = ctl};
	lmi_ctl_health_daemon(h);
	lmi_ctl_health_machine(h);
	lmi_ctl_health_devices(h);
}

const char *lmi_ctl_health_word(enum lmi_ctl_health_state state)
{
	static const char *const words[] = {"ok", "note", "warn", "FAIL"};

	return words[state];
}

static void print_json(const struct lmi_ctl_health *h)
{
	static const char *const words[] = {"ok", "note", "warn", "fail"};
	struct lmi_ctl_json j;

	lmi_ctl_json_init(&j, stdout);
	lmi_ctl_json_array(&j, NULL);
	for (uint32_t i = 0; i < h->n; i++) {
		lmi_ctl_json_object(&j, NULL);
		lmi_ctl_json_str(&j, "state", words[h->v[i].state]);
		lmi_ctl_json_str(&j, "subject", h->v[i].subject);
		lmi_ctl_json_str(&j, "text", h->v[i].text);
		lmi_ctl_json_str(&j, "command", h->v[i].type[0] ? h->v[i].type : NULL);
		lmi_ctl_json_end(&j);
	}
	lmi_ctl_json_end(&j);
	lmi_ctl_json_fini(&j);
}

static void print_text(const struct lmi_ctl_health *h)
{
	for (uint32_t i = 0; i < h->n; i++) {
		const struct lmi_ctl_finding *f = &h->v[i];

		printf("%-4s  %-8s  %s\n", lmi_ctl_health_word(f->state), f->subject, f->text);
		if (f->type[0])
			printf("                try: %s\n", f->type);
	}
	if (h->n_dropped)
		printf("... and %u more findings\n", h->n_dropped);
}

static enum lmd_status run(struct lmi_ctl *ctl, struct lmd_error *err)
{
	struct lmi_ctl_health *h = lmi_alloc(1, sizeof(*h));
	uint32_t n[LMI_CTL_HEALTH_FAIL + 1] = {0}, bad;

	if (!h)
		return lmd_fail(err, LMD_NOMEM, "no memory for the findings");
	lmi_ctl_health_check(h, ctl);
	for (uint32_t i = 0; i < h->n; i++)
		n[h->v[i].state]++;
	if (lmi_arg_flag(&ctl->args, "json"))
		print_json(h);
	else
		print_text(h);
	lmi_free(h);
	bad = n[LMI_CTL_HEALTH_FAIL];
	if (!bad && !lmi_arg_flag(&ctl->args, "json"))
		printf("Nothing is broken; %u warning%s.\n", n[LMI_CTL_HEALTH_WARN],
		       n[LMI_CTL_HEALTH_WARN] == 1 ? "" : "s");
	return bad ? lmd_fail(err, LMD_INVALID, "%u of %u checks failed", bad,
			      bad + n[LMI_CTL_HEALTH_OK] + n[LMI_CTL_HEALTH_NOTE] +
				      n[LMI_CTL_HEALTH_WARN])
		   : LMD_OK;
}

static const struct lmi_opt opts[] = {LMI_OPT_JSON};

const struct lmi_cli_cmd lmi_ctl_cmd_doctor = {
	.name = "doctor",
	.brief = "Check what llamad needs, and say what to do",
	.doc = "Checks the daemon and its version, its models, keys that expire within a week, the "
	       "configuration, the HTTP port, the processor and the memory, the folder of models and "
	       "its disk, the plugins, and the drivers and permissions of GPUs. Changes nothing. Each "
	       "finding is ok, note (more is possible), warn (it may stop working) or FAIL (it does "
	       "not work), with the command that helps. The exit status is 1 if something failed.\n\n"
	       "With --json each object has state (ok, note, warn or fail), subject, text and "
	       "command, which is null if there is nothing to do.",
	.opts = opts,
	.n_opts = LMD_LEN(opts),
	.run = run,
};
