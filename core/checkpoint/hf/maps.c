/* SPDX-License-Identifier: MIT
 *
 * The maps of checkpoints are tables of the architectures' plugins.  All of these are loaded when a
 * checkpoint is opened: its model_type does not say which one has the map.  A class that shares its model_type with
 * another family, such as that of a draft model, has a map of its own. */
#include "core/base/alloc.h"
#include "core/checkpoint/hf/checkpoint_impl.h"

enum lmd_status lmi_checkpoint_maps_take(struct lmi_checkpoint_maps *m,
					 struct lmi_plugin_registry *plugins, struct lmd_error *err)
{
	*m = (struct lmi_checkpoint_maps){.plugins = plugins};
	return plugins ? lmi_factory_take_all(plugins, LMD_KIND_ARCH, &m->archs, &m->n, err)
		       : LMD_OK;
}

void lmi_checkpoint_maps_give(struct lmi_checkpoint_maps *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		lmi_factory_give(m->plugins, m->archs[i]);
	lmi_free(m->archs);
	*m = (struct lmi_checkpoint_maps){0};
}

const struct lmd_checkpoint_map *lmi_checkpoint_map_at(const struct lmi_checkpoint_maps *m,
						       uint32_t i)
{
	for (uint32_t k = 0; k < m->n; k++) {
		const struct lmd_checkpoint_maps *of = m->archs[k]->ops.arch->checkpoints;
		uint32_t n = of ? of->n : 0;

		if (i < n)
			return &of->v[i];
		i -= n;
	}
	return NULL;
}

const struct lmd_checkpoint_map *lmi_checkpoint_map_find(const struct lmi_checkpoint_maps *m,
							 const struct lmi_json_node *model_type)
{
	const struct lmd_checkpoint_map *map;

	for (uint32_t i = 0; (map = lmi_checkpoint_map_at(m, i)) != NULL; i++)
		if (lmi_json_node_eq(model_type, map->type))
			return map;
	return NULL;
}
