/* SPDX-License-Identifier: MIT */
#include "core/format/part.h"

#include "core/format/format.h"

enum lmd_status lmi_parts_begin(struct lmi_model *m, uint64_t copied, uint32_t flags,
				struct lmd_error *err)
{
	struct lmi_model_wait *w = &m->wait;

	w->done = w->total = 0;
	w->copied = copied;
	if (w->max_copy && copied > w->max_copy)
		return lmd_fail(err, LMD_NOMEM,
				"%llu MiB of files are to be read into memory, %llu MiB are left; "
				"mapped they would take none",
				(unsigned long long)(copied >> 20),
				(unsigned long long)(w->max_copy >> 20));
	for (uint32_t i = 0; (flags & LMI_OPEN_MLOCK) && i < m->n_parts; i++)
		w->total += m->parts[i].file.bytes;
	w->total += copied;
	return LMD_OK;
}

enum lmd_status lmi_parts_make(struct lmi_model *m, uint64_t made, struct lmd_error *err)
{
	struct lmi_model_wait *w = &m->wait;

	if (w->max_copy && (w->copied > w->max_copy || made > w->max_copy - w->copied))
		return lmd_fail(
			err, LMD_NOMEM,
			"%llu MiB of weights are stored in another form than they are used and "
			"would be made in memory, %llu MiB are left; llamactl convert makes a "
			"file that is mapped whole",
			(unsigned long long)(made >> 20),
			(unsigned long long)((w->max_copy - w->copied) >> 20));
	w->total += made;
	return LMD_OK;
}

/* Of one map; wait.done is what the work before it came to. */
static bool on_progress(void *arg, uint64_t done)
{
	struct lmi_model_wait *w = arg;
	uint64_t sum = w->done + done;

	w->given_up = w->given_up ||
		      !w->progress(w->arg, sum < w->total ? sum : w->total, w->total);
	return !w->given_up;
}

enum lmd_status lmi_parts_made(struct lmi_model *m, uint64_t bytes, struct lmd_error *err)
{
	struct lmi_model_wait *w = &m->wait;

	w->done += bytes;
	if (!w->progress || on_progress(w, 0))
		return LMD_OK;
	return lmd_fail(err, LMD_CANCELLED, "given up while weights were made");
}

enum lmd_status lmi_part_load(struct lmi_model *m, uint32_t i, uint64_t from, bool copy,
			      uint32_t flags, struct lmd_error *err)
{
	struct lmi_model_part *p = &m->parts[i];
	struct lmi_model_wait *w = &m->wait;
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
	return !w->given_up ? LMD_OK : lmd_fail(err, LMD_CANCELLED, "given up while it was locked");
}
