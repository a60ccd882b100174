/* SPDX-License-Identifier: MIT
 *
 * mmproj.h - finds the vision tower of a model: the file mmproj*.gguf in its folder. */
#ifndef LLAMAD_SERVICE_MMPROJ_H
#define LLAMAD_SERVICE_MMPROJ_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the path of the only file beside a model whose name begins with mmproj and ends in .gguf. Returns
 * false if there is none, or more than one. Reads the folder. */
bool lmi_svc_mmproj_beside(const char *model, char *out, size_t n);

#endif /* LLAMAD_SERVICE_MMPROJ_H */
