/* SPDX-License-Identifier: MIT
 *
 * References to records of the registry. */
#include "service/model_record.h"

#include "core/base/alloc.h"

struct lmi_svc_model_record *lmi_svc_model_record_take(struct lmi_svc_model_record *record)
{
	record->n_user++;
	return record;
}

void lmi_svc_model_record_give(struct lmi_svc_model_record *record)
{
	if (!record || --record->n_user)
		return;
	lmi_store_models_fini(&record->m);
	lmi_free(record);
}

const char *lmi_svc_model_record_name(const struct lmi_svc_model_record *record)
{
	return record->m.v[0].name;
}
