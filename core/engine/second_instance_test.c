/* SPDX-License-Identifier: MIT
 *
 * The options of draft models and towers: what is about devices and processes is that of the model, what is
 * about the model itself is not. */
#include <string.h>

#include "core/engine/second_instance.h"
#include "core/engine/tower.h"
#include "tests/lmd_check.h"

static char first_label[200];

/* All members are set. */
static struct lmi_engine_model_opts full(void)
{
	struct lmi_engine_model_opts o;

	memset(&o, 1, sizeof(o));
	memset(first_label, 'x', sizeof(first_label) - 1);
	o.label = first_label;
	o.path = "model.gguf";
	o.mmproj_path = "mmproj.gguf";
	o.draft_path = "draft.gguf";
	o.device_sampling = LMI_ENGINE_DEVICE_SAMPLING_AUTO;
	return o;
}

static void check_devices(const struct lmi_engine_model_opts *o, const struct lmi_engine_model_opts *first)
{
	ck_assert_ptr_eq(o->registry, first->registry);
	ck_assert_ptr_eq(o->host, first->host);
	ck_assert_ptr_eq(o->backend, first->backend);
	ck_assert_ptr_eq(o->device_list, first->device_list);
	ck_assert_uint_eq(o->device, first->device);
	ck_assert_uint_eq(o->n_thread, first->n_thread);
	ck_assert_uint_eq(o->activations, first->activations);
	ck_assert_uint_eq(o->attention, first->attention);
	ck_assert_uint_eq(o->deterministic, first->deterministic);
	ck_assert_uint_eq(o->memory_limit, first->memory_limit);
	ck_assert_uint_eq(o->open_flags, first->open_flags);
	ck_assert_uint_eq(o->isolation_timeout_ns, first->isolation_timeout_ns);
	ck_assert(o->isolated && o->isolate_untrusted && o->at_once);
	ck_assert_ptr_eq(o->loss, first->loss);
}

static void check_own(const struct lmi_engine_model_opts *o)
{
	ck_assert_ptr_null(o->files);
	ck_assert_ptr_null(o->adapter_files);
	ck_assert_ptr_null(o->slot_adapters);
	ck_assert_ptr_null(o->target);
	ck_assert_ptr_null(o->draft_path);
	ck_assert_ptr_null(o->draft_candidates);
	ck_assert_ptr_null(o->mmproj_path);
	ck_assert_ptr_null(o->lookup_path);
	ck_assert(!o->lookahead);
	ck_assert_ptr_null(o->repack);
	ck_assert_ptr_null(o->override_tensor);
	ck_assert_uint_eq(o->n_files + o->n_adapter_files + o->n_slot_adapters + o->n_draft_candidates, 0);
	ck_assert_uint_eq(o->n_ctx + o->n_batch + o->n_whole + o->n_out, 0);
	ck_assert(!o->kv_tokens && !o->share_kv && !o->adapters && !o->draft_layers && !o->keep_values &&
		  !o->unfused);
	ck_assert_int_eq(o->device_sampling, LMI_ENGINE_DEVICE_SAMPLING_OFF);
}

START_TEST(options_of_a_draft_model)
{
	const struct lmi_engine_model_opts first = full();
	struct lmi_engine_devices *set = (void *)first_label;
	struct lmi_engine_second_opts o;

	lmi_engine_second_opts_init(&o, &first, set, first.draft_path, "draft");
	check_devices(&o.opts, &first);
	check_own(&o.opts);
	ck_assert_str_eq(o.opts.path, "draft.gguf");
	ck_assert_ptr_eq(o.opts.devices, set);
	ck_assert_ptr_eq(o.opts.split, first.split);
	ck_assert_uint_eq(o.opts.n_seq, 0);
	/* a long name is cut before its end, which tells it from that of the model */
	ck_assert_uint_eq(strlen(o.opts.label), 100 + strlen("-draft"));
	ck_assert_str_eq(o.opts.label + 100, "-draft");
}
END_TEST

START_TEST(options_of_a_tower)
{
	struct lmi_engine_model_opts first = full();
	struct lmi_engine_second_opts o;

	lmi_engine_tower_opts(&o, &first, NULL);
	check_devices(&o.opts, &first);
	check_own(&o.opts);
	ck_assert_str_eq(o.opts.path, "mmproj.gguf");
	ck_assert_uint_eq(o.opts.n_seq, 1);
	ck_assert_ptr_null(o.opts.split);
	ck_assert_ptr_null(o.opts.gpu_layers);
	ck_assert(o.opts.no_prefix_cache);
	first.isolated = first.isolate_untrusted = false;
	lmi_engine_tower_opts(&o, &first, NULL);
	ck_assert_ptr_null(o.opts.label);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("second instances");
	TCase *t = tcase_create("options");

	tcase_add_test(t, options_of_a_draft_model);
	tcase_add_test(t, options_of_a_tower);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
