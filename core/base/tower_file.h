/* SPDX-License-Identifier: MIT
 *
 * tower_file.h - which file is the vision tower of a model, by names alone. */
#ifndef LLAMAD_CORE_BASE_TOWER_FILE_H
#define LLAMAD_CORE_BASE_TOWER_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The ending of a tower's name in a store, after the path of the model's first file, STATE/models/sha256-HEX.
 * It goes with that file; towers with the same content may be names of one file. */
#define LMI_TOWER_SUFFIX ".mmproj"

/* Returns whether a file of that name, without folders, is a vision tower: mmproj*.gguf in any case. */
bool lmi_tower_is_name(const char *name);

/* Finds the vision tower of the model whose first file is `model`, an absolute path or one with a folder: the
 * file MODEL.mmproj, or else the only file of its folder with the name of a tower. Writes its path to out[n].
 * Returns false if there is none or more than one, if the path is too long, or if the model is a tower itself.
 * Reads the folder; any thread. */
bool lmi_tower_beside(char *out, size_t n, const char *model);

#endif /* LLAMAD_CORE_BASE_TOWER_FILE_H */
