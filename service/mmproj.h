/* SPDX-License-Identifier: MIT
 *
 * mmproj.h - finds the vision tower of a model: what a pull has put beside it in the
 * store, or the file mmproj*.gguf in its folder. */
#ifndef LLAMAD_SERVICE_MMPROJ_H
#define LLAMAD_SERVICE_MMPROJ_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of the file that has the model's own name and LMI_STORE_TOWER_SUFFIX (store/import.h), or of
 * the only file beside it whose name begins with mmproj and ends in .gguf. Returns false if there is none, or
 * more than one. Reads the folder. */
bool lmi_svc_mmproj_beside(const char *model, char *out, size_t n);

#endif /* LLAMAD_SERVICE_MMPROJ_H */
