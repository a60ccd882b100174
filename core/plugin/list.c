/* SPDX-License-Identifier: MIT
 *
 * The list for `llamactl plugins`: every object with its factories, the reasons for rejected files,
 * and which entry shadows which. */
#include <stdio.h>
#include <string.h>

#include "core/plugin/registry_impl.h"

#define ALL_KINDS UINT32_MAX

/* Returns the entry that a look-up of e's name finds instead of e, or NULL. */
static const struct lmi_plugin_entry *shadow_of(const struct lmi_plugin_registry *r,
						const struct lmi_plugin_entry *e)
{
	bool complete;
	const struct lmi_plugin_entry *best =
		lmi_plugin_find_best(r, e->f.kind, e->f.name, &complete);

	return best && best != e ? best : NULL;
}

static const char *state_word(const struct lmi_plugin_object *o, bool shadowed)
{
	switch (o->state) {
	case LMI_PLUGIN_OBJECT_CHECKED:
	case LMI_PLUGIN_OBJECT_LOADED:
		return shadowed ? "shadowed" : "loaded";
	case LMI_PLUGIN_OBJECT_REJECTED:
		return "refused";
	case LMI_PLUGIN_OBJECT_RETIRED:
		return "retired";
	}
	return "?";
}

static void list_object(struct lmi_plugin_registry *r, const struct lmi_plugin_object *o,
			void (*plugin)(void *arg, const struct lmi_plugin_info *info),
			void (*factory)(void *arg, const struct lmi_factory_info *info), void *arg)
{
	const struct lmi_plugin_entry *by = NULL;
	uint32_t n_shadowed = 0, n_zero = 0, users;
	char reason[LMD_ERROR_TEXT];
	struct lmi_plugin_info info;

	for (uint32_t i = 0; o->state == LMI_PLUGIN_OBJECT_LOADED && i < o->n_entries; i++) {
		const struct lmi_plugin_entry *e = &o->entries[i], *s = shadow_of(r, e);

		n_zero += !e->pub.score;
		n_shadowed += s && e->pub.score;
		by = s ? s : by;
	}
	snprintf(reason, sizeof(reason), "%s", o->reason);
	if (o->n_entries && n_zero == o->n_entries)
		snprintf(reason, sizeof(reason), "cannot run here: %s", o->entries[0].why);
	else if (n_shadowed && n_shadowed + n_zero == o->n_entries)
		snprintf(reason, sizeof(reason), "all its factories are provided by %.300s instead",
			 by->object->path);
	pthread_mutex_lock(&r->mu);
	users = o->n_users;
	pthread_mutex_unlock(&r->mu);
	info = (struct lmi_plugin_info){
		.file = o->path,
		.name = o->note.name,
		.version = o->note.version,
		.kinds = o->note.kinds,
		.abi_major = o->note.abi_major,
		.abi_minor = o->note.abi_minor,
		.state = state_word(o, n_shadowed && n_shadowed + n_zero == o->n_entries),
		.reason = reason,
		.generation = o->generation,
		.n_users = users,
		.n_factories = o->n_entries,
	};
	plugin(arg, &info);
	for (uint32_t i = 0; factory && i < o->n_entries; i++) {
		const struct lmi_plugin_entry *e = &o->entries[i];
		const struct lmi_plugin_entry *s =
			o->state == LMI_PLUGIN_OBJECT_LOADED && e->pub.score ? shadow_of(r, e)
									     : NULL;
		struct lmi_factory_info f = {e->f.kind, e->f.name, e->pub.score, e->why};

		if (s) {
			snprintf(reason, sizeof(reason), "provided by %.300s instead",
				 s->object->path);
			f.reason = reason;
		}
		factory(arg, &f);
	}
}

void lmi_plugin_registry_list(struct lmi_plugin_registry *r,
			      void (*plugin)(void *arg, const struct lmi_plugin_info *info),
			      void (*factory)(void *arg, const struct lmi_factory_info *info),
			      void *arg)
{
	pthread_mutex_lock(&r->work);
	/* if memory runs out, list what is known so far */
	(void)lmi_plugin_scan(r, false, NULL);
	(void)lmi_plugin_load_kinds(r, ALL_KINDS, NULL);
	for (const struct lmi_plugin_object *o = r->objects; o; o = o->next)
		list_object(r, o, plugin, factory, arg);
	pthread_mutex_unlock(&r->work);
}

void lmi_plugin_registry_known(struct lmi_plugin_registry *r,
			       void (*plugin)(void *arg, const struct lmi_plugin_info *info),
			       void *arg)
{
	pthread_mutex_lock(&r->work);
	for (const struct lmi_plugin_object *o = r->objects; o; o = o->next)
		list_object(r, o, plugin, NULL, arg);
	pthread_mutex_unlock(&r->work);
}
