/* SPDX-License-Identifier: MIT
 *
 * preset_sections.h - presets as sections of a configuration file:
 *
 *     [model NAME]
 *     temp = 0.2 */
#ifndef LLAMAD_SERVICE_PRESET_SECTIONS_H
#define LLAMAD_SERVICE_PRESET_SECTIONS_H

#include <stdio.h>

#include "service/preset.h"

/* Maximum number of sections [model NAME], and of bytes of the files that they name. */
#define LMI_SVC_PRESETS_MAX 256
#define LMI_SVC_PRESET_TEXT_BYTES (1u << 20)

struct lmi_svc_preset_list {
	struct lmi_svc_preset v[LMI_SVC_PRESETS_MAX];
	uint32_t n;
};

/* Returns whether a section of that name belongs to a model. */
bool lmi_svc_preset_is_section(const char *section);
/* Begins a preset; its name is a part of `section`, which must stay valid. */
enum lmd_status lmi_svc_preset_list_begin(struct lmi_svc_preset_list *p, const char *section,
					  struct lmd_error *err);
/* Sets a key of the last preset; texts are copied to the arena. */
enum lmd_status lmi_svc_preset_list_set(struct lmi_svc_preset_list *p, const char *key,
					const char *value, struct lmd_arena *arena,
					struct lmd_error *err);
/* Reads the presets of a file and ignores its other sections; *out is [*n], in the arena.
 * LMD_INVALID names file and line; LMD_NOTFOUND, LMD_DENIED or LMD_IO for the file. */
LMD_NODISCARD enum lmd_status lmi_svc_preset_read_file(const struct lmi_svc_preset **out,
						       uint32_t *n, const char *path,
						       struct lmd_arena *arena,
						       struct lmd_error *err);

/* Returns whether two lists are the same. */
bool lmi_svc_preset_same_lists(const struct lmi_svc_preset *a, uint32_t n_a,
			       const struct lmi_svc_preset *b, uint32_t n_b);
/* Prints the sections of n presets. */
void lmi_svc_preset_print(FILE *f, const struct lmi_svc_preset *v, uint32_t n);
/* Calls put for each key with its value's placeholder and its description. */
void lmi_svc_preset_doc(void (*put)(FILE *f, const char *key, const char *value, const char *doc),
			FILE *f);

#endif /* LLAMAD_SERVICE_PRESET_SECTIONS_H */
