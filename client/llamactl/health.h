/* SPDX-License-Identifier: MIT
 *
 * health.h - what `llamactl doctor` looks at: a list of findings, each with the command that mends
 * it. Nothing is changed: no folder is created, and no model is loaded. */
#ifndef LLAMAD_LLAMACTL_HEALTH_H
#define LLAMAD_LLAMACTL_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

#include "client/llamactl/ctl.h"

enum lmi_ctl_health_state {
	LMI_CTL_HEALTH_OK,
	LMI_CTL_HEALTH_NOTE, /* nothing is wrong, but more is possible */
	LMI_CTL_HEALTH_WARN, /* works, and may stop working */
	LMI_CTL_HEALTH_FAIL  /* something does not work */
};

struct lmi_ctl_finding {
	enum lmi_ctl_health_state state;
	const char *subject; /* one word: "plugins" */
	char text[400];	     /* a sentence without a full stop */
	char type[240];	     /* what to do, mostly a command; "" if there is nothing */
};

#define LMI_CTL_FINDINGS_MAX 64

struct lmi_ctl_health {
	struct lmi_ctl *ctl;
	uint32_t n, n_dropped; /* findings beyond LMI_CTL_FINDINGS_MAX */
	struct lmi_ctl_finding v[LMI_CTL_FINDINGS_MAX];
};

/* Adds a finding; returns it, for lmi_ctl_health_type. */
struct lmi_ctl_finding *lmi_ctl_health_add(struct lmi_ctl_health *h,
					   enum lmi_ctl_health_state state, const char *subject,
					   const char *fmt, ...) LMD_PRINTF(4, 5);
/* Sets what to do. */
void lmi_ctl_health_type(struct lmi_ctl_finding *f, const char *fmt, ...) LMD_PRINTF(2, 3);

/* The groups of checks, in the order of the report. */
void lmi_ctl_health_daemon(struct lmi_ctl_health *h);  /* daemon, versions, configuration, ports */
void lmi_ctl_health_machine(struct lmi_ctl_health *h); /* processor, memory, state folder, disk */
void lmi_ctl_health_devices(struct lmi_ctl_health *h); /* plugins, GPUs, drivers, permissions */

/* Runs all of them. */
void lmi_ctl_health_check(struct lmi_ctl_health *h, struct lmi_ctl *ctl);

/* Returns "ok", "note", "warn" or "FAIL". */
const char *lmi_ctl_health_word(enum lmi_ctl_health_state state);

#endif /* LLAMAD_LLAMACTL_HEALTH_H */
