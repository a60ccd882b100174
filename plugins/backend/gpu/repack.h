/* SPDX-License-Identifier: MIT
 *
 * repack.h - rows of block types in the order of kern/planes.h: the same bytes, so that nothing is
 * lost and nothing is larger. */
#ifndef LLAMAD_PLUGINS_BACKEND_GPU_REPACK_H
#define LLAMAD_PLUGINS_BACKEND_GPU_REPACK_H

#include <stdbool.h>
#include <stdint.h>

/* Do rows of the type lie in planes on the device? */
bool gpu_repack_has(uint32_t dtype);
/* Repacks a row of k values, whole blocks of the type; both rows have as many bytes. */
void gpu_repack_row(uint32_t dtype, const uint8_t *row, uint32_t k, uint8_t *out);

#endif /* LLAMAD_PLUGINS_BACKEND_GPU_REPACK_H */
