/* SPDX-License-Identifier: MIT
 *
 * The kernels: the bytes of the file GPU_IMAGE, which a header made with it names, so that this is
 * compiled again when the kernels have changed. */
#include "plugin.h"

#include GPU_IMAGE_HEADER

__asm__(".pushsection .rodata\n"
	".balign 64\n"
	"gpu_image_begin:\n"
	".incbin \"" GPU_IMAGE "\"\n"
	"gpu_image_end:\n"
	".byte 0\n"
	".popsection\n");

extern const char gpu_image_begin[] __attribute__((visibility("hidden")));
extern const char gpu_image_end[] __attribute__((visibility("hidden")));

const void *gpu_image(size_t *bytes)
{
	*bytes = (size_t)(gpu_image_end - gpu_image_begin);
	return gpu_image_begin;
}
