/* SPDX-License-Identifier: MIT
 *
 * The error message of a failed look-up: which objects match and why they cannot run here; if none does,
 * which folders were searched, and which objects that might have matched were removed or rejected. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/plugin/registry_impl.h"

struct text {
	char *at;
	size_t left;
};

static void say(struct text *t, const char *fmt, ...) LMD_PRINTF(2, 3);

static void say(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, t->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->left)
		n = (int)t->left - 1;
	t->at += n;
	t->left -= (size_t)n;
}

static bool offers(const struct lmi_plugin_object *o, uint32_t kind, const char *name,
		   const struct lmi_plugin_entry **out)
{
	for (uint32_t i = 0; i < o->n_entries; i++) {
		if (o->entries[i].f.kind == kind && lmi_plugin_entry_match(&o->entries[i], name)) {
			*out = &o->entries[i];
			return true;
		}
	}
	return false;
}

/* Says why each object that offers the name cannot run here; returns false if there is none. */
static bool say_cannot_run(struct text *t, const struct lmi_plugin_registry *r, uint32_t kind,
			   const char *name, const char *shown)
{
	const struct lmi_plugin_entry *e = NULL;
	uint32_t n = 0;

	for (const struct lmi_plugin_object *o = r->objects; o; o = o->next) {
		if (o->state != LMI_PLUGIN_OBJECT_LOADED || !offers(o, kind, name, &e))
			continue;
		if (!n++)
			say(t, "%s '%s': ", lmi_plugin_kind(kind)->word, shown);
		say(t, "%s%s cannot run here: %s", n > 1 ? "; " : "", o->path, e->why);
	}
	return n > 0;
}

/* Appends the reason why this object does not match, if its rank (0 = more informative) is
 * `rank`. */
static void say_reason(struct text *t, const struct lmi_plugin_object *o, uint32_t kind,
		       const char *name, int rank)
{
	const struct lmi_plugin_entry *e = NULL;

	switch (o->state) {
	case LMI_PLUGIN_OBJECT_RETIRED:
		if (rank == 0 && offers(o, kind, name, &e))
			say(t, "; %s provided it: %s", o->path, o->reason);
		break;
	case LMI_PLUGIN_OBJECT_REJECTED:
		if (rank == 1 && (!o->note.kinds || (o->note.kinds & LMD_KIND_BIT(kind))))
			say(t, "; %s was rejected: %s", o->path, o->reason);
		break;
	case LMI_PLUGIN_OBJECT_CHECKED:
	case LMI_PLUGIN_OBJECT_LOADED: /* say_cannot_run */
		break;
	}
}

static void say_folders(struct text *t, const struct lmi_plugin_registry *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_dirs; i++) {
		const struct lmi_plugin_dir *d = &r->dirs[i];

		if (d->state == LMI_PLUGIN_DIR_DUPLICATE)
			continue;
		say(t, "%s%.120s%s%s%s", n++ ? ", " : "", d->path, *d->reason ? " (" : "", d->reason,
		    *d->reason ? ")" : "");
	}
	if (!n)
		say(t, "no folder");
}

enum lmd_status lmi_plugin_lookup_fail(const struct lmi_plugin_registry *r, uint32_t kind,
				       const char *name, struct lmd_error *err)
{
	char buf[LMD_ERROR_TEXT], shown[49];
	struct text t = {buf, sizeof(buf)};

	snprintf(shown, sizeof(shown), "%s", name);
	for (char *c = shown; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	if (!say_cannot_run(&t, r, kind, name, shown)) {
		say(&t, "no plugin offers %s '%s'; looked in ", lmi_plugin_kind(kind)->word, shown);
		say_folders(&t, r);
	}
	for (int rank = 0; rank < 2; rank++)
		for (const struct lmi_plugin_object *o = r->objects; o; o = o->next)
			say_reason(&t, o, kind, name, rank);
	return lmd_fail(err, LMD_NOTFOUND, "%s", buf);
}
