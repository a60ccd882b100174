/* SPDX-License-Identifier: MIT
 *
 * The error message of a failed look-up: which folders were searched, and, the most informative
 * first, which objects would have matched but cannot run here, were removed, or were rejected. */
#include <stdarg.h>
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

static bool offers(const struct lmi_object *o, uint32_t kind, const char *name,
		   const struct lmi_entry **out)
{
	for (uint32_t i = 0; i < o->n_entries; i++) {
		if (o->entries[i].f.kind == kind && lmi_entry_answers(&o->entries[i], name)) {
			*out = &o->entries[i];
			return true;
		}
	}
	return false;
}

/* Appends the reason why this object does not match, if its rank (0 = most informative) is
 * `rank`. */
static void say_reason(struct text *t, const struct lmi_object *o, uint32_t kind, const char *name,
		       int rank)
{
	const struct lmi_entry *e = NULL;

	switch (o->state) {
	case LMI_OBJECT_LOADED:
		if (rank == 0 && offers(o, kind, name, &e))
			say(t, "; %s cannot run here: %s", o->path, e->why);
		break;
	case LMI_OBJECT_RETIRED:
		if (rank == 1 && offers(o, kind, name, &e))
			say(t, "; %s provided it: %s", o->path, o->reason);
		break;
	case LMI_OBJECT_REFUSED:
		if (rank == 2 && (!o->note.kinds || (o->note.kinds & LMD_KIND_BIT(kind))))
			say(t, "; %s was rejected: %s", o->path, o->reason);
		break;
	case LMI_OBJECT_CHECKED:
		break;
	}
}

enum lmd_status lmi_say_miss(const struct lmi_registry *r, uint32_t kind, const char *name,
			     struct lmd_error *err)
{
	char buf[LMD_ERROR_TEXT], shown[49];
	struct text t = {buf, sizeof(buf)};
	uint32_t n = 0;

	snprintf(shown, sizeof(shown), "%s", name);
	for (char *c = shown; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	say(&t, "no plugin offers %s '%s'; looked in ", lmi_kind(kind)->word, shown);
	for (uint32_t i = 0; i < r->n_dirs; i++) {
		const struct lmi_dir *d = &r->dirs[i];

		if (d->state == LMI_DIR_DUPLICATE)
			continue;
		say(&t, "%s%.120s%s%s%s", n++ ? ", " : "", d->path, *d->reason ? " (" : "",
		    d->reason, *d->reason ? ")" : "");
	}
	if (!n)
		say(&t, "no folder");
	for (int rank = 0; rank < 3; rank++)
		for (const struct lmi_object *o = r->objects; o; o = o->next)
			say_reason(&t, o, kind, name, rank);
	return lmd_fail(err, LMD_NOTFOUND, "%s", buf);
}
