/* SPDX-License-Identifier: MIT
 *
 * Maps files or reads them into memory, within the limit of the caller and with progress
 * reports. */
#include "core/format/part_load.h"

#include "core/format/format.h"

enum lmd_status lmi_model_load_begin(struct lmi_model *m, uint64_t copied, uint32_t flags,
				     struct lmd_error *err)
{
	struct lmi_model_load_progress *w = &m->load_progress;

	w->done = w->total = 0;
	w->copied = copied;
	if (w->max_copy && copied > w->max_copy)
		return lmd_fail(err, LMD_NOMEM,
				"%llu MiB of files would be read into memory, but only %llu MiB "
				"are left; map them instead, which takes no memory",
				(unsigned long long)(copied >> 20),
				(unsigned long long)(w->max_copy >> 20));
	for (uint32_t i = 0; (flags & LMI_OPEN_MLOCK) && i < m->n_parts; i++)
		w->total += m->parts[i].file.bytes;
	w->total += copied;
	return LMD_OK;
}

enum lmd_status lmi_model_load_add_built(struct lmi_model *m, uint64_t made, struct lmd_error *err)
{
	struct lmi_model_load_progress *w = &m->load_progress;

	if (w->max_copy && (w->copied > w->max_copy || made > w->max_copy - w->copied))
		return lmd_fail(
			err, LMD_NOMEM,
			"%llu MiB of weights are not stored in the form in which they are used and "
			"would be built in memory, but only %llu MiB are left; llamactl convert "
			"makes a file that needs no such memory",
			(unsigned long long)(made >> 20),
			(unsigned long long)((w->max_copy - w->copied) >> 20));
	w->total += made;
	return LMD_OK;
}

/* Reports the progress of one map; w->done is the work before it. */
static bool on_progress(void *arg, uint64_t done)
{
	struct lmi_model_load_progress *w = arg;
	uint64_t sum = w->done + done;

	w->cancelled =
		w->cancelled || !w->progress(w->arg, sum < w->total ? sum : w->total, w->total);
	return !w->cancelled;
}

enum lmd_status lmi_model_load_built(struct lmi_model *m, uint64_t bytes, struct lmd_error *err)
{
	struct lmi_model_load_progress *w = &m->load_progress;

	w->done += bytes;
	if (!w->progress || on_progress(w, 0))
		return LMD_OK;
	return lmd_fail(err, LMD_CANCELLED, "cancelled while weights were built");
}

enum lmd_status lmi_model_load_part(struct lmi_model *m, uint32_t i, uint64_t from, bool copy,
				    uint32_t flags, struct lmd_error *err)
{
	struct lmi_model_part *p = &m->parts[i];
	struct lmi_model_load_progress *w = &m->load_progress;
	lmi_map_fn fn = w->progress ? on_progress : NULL;
	enum lmd_status st;

	if (copy || (flags & (LMI_OPEN_NO_MMAP | LMI_OPEN_DIRECT))) {
		p->map_at = from;
		st = lmi_map_load(&p->map, &p->file, from, p->file.bytes - from,
				  (flags & LMI_OPEN_DIRECT) != 0, fn, w, err);
		w->done += p->file.bytes;
	} else {
		st = lmi_map_open(&p->map, &p->file, p->file.bytes, err);
	}
	if (st != LMD_OK || !(flags & LMI_OPEN_MLOCK))
		return st;
	p->locked = lmi_map_lock(&p->map, fn, w);
	w->done += p->file.bytes;
	return !w->cancelled ? LMD_OK
			     : lmd_fail(err, LMD_CANCELLED,
					"cancelled while the file was locked in memory");
}
