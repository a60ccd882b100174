/* SPDX-License-Identifier: MIT
 *
 * Weights keep the bytes of the file on the device, whatever their type. */
#include "backend/gpu/gpu.h"

#include "core/plugin/host_services.h"
#include "tests/lmd_check.h"

static const struct {
	const char *name;
	uint32_t dtype;
} types[] = {
	{"f32", LMD_DTYPE_F32},
	{"f16", LMD_DTYPE_F16},
	{"bf16", LMD_DTYPE_BF16},
#define ROW(constant, name, number) {#name, LMD_DTYPE_##constant},
	LMD_DTYPES_WEIGHT(ROW)
};

START_TEST(keeps_the_bytes_of_the_file)
{
	const struct lmd_weight_ref ref = {
		.struct_size = sizeof(ref), .n_stack = 1, .n = 4, .k = 512, .name = "w"};
	const struct lmd_weight_piece piece = {.n_row = 4, .n_slice = 1};
	struct gpu_dev dev = {0};
	struct lmd_host *host;

	ck_assert_int_eq(lmi_host_create(&host, UINT64_MAX), LMD_OK);
	dev.host = host;
	for (size_t i = 0; i < LMD_LEN(types); i++) {
		const struct lmd_weight_desc d = {.struct_size = sizeof(d),
						  .dtype = types[i].dtype,
						  .ref = &ref,
						  .n_piece = 1,
						  .pieces = &piece};
		struct lmd_weight_plan plan = {.struct_size = sizeof(plan)};
		struct lmd_error err = {0};
		uint32_t elems, bytes;
		uint64_t rows;

		ck_assert_msg(gpu_weight_query(&dev, &d, &plan, &err) == LMD_OK, "%s: %s",
			      types[i].name, err.text);
		ck_assert_msg(plan.exactness == 0, "%s is decoded when it is loaded",
			      types[i].name);
		ck_assert(host->dtype_info(host->ctx, types[i].dtype, &elems, &bytes));
		rows = 4 * (uint64_t)(host->dtype_head(host->ctx, types[i].dtype) +
				      512 / elems * bytes);
		ck_assert_msg(plan.bytes >= rows && plan.bytes < rows + 1024,
			      "%s: %llu bytes for %llu of rows", types[i].name,
			      (unsigned long long)plan.bytes, (unsigned long long)rows);
	}
	lmi_host_destroy(host);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gpu_weight");
	TCase *t = tcase_create("gpu_weight");

	tcase_add_test(t, keeps_the_bytes_of_the_file);
	suite_add_tcase(s, t);
	return lmd_check_run(srunner_create(s));
}
