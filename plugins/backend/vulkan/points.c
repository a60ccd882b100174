/* SPDX-License-Identifier: MIT
 *
 * The table that the shared decoders read. */
#include "vkb.h"

static const uint16_t points[] = {
#include "backend/common/device_points.h"
};
_Static_assert(sizeof(points) % 4 == 0, "shaders read whole words");

enum lmd_status vkb_points_open(struct vkb_dev *dev, struct lmd_error *err)
{
	struct vkb_batch b;
	enum lmd_status st = vkb_alloc(dev, VKB_DEVICE, sizeof(points), &dev->points, err);

	if (st == LMD_OK)
		st = vkb_begin(dev, NULL, &b, err);
	if (st != LMD_OK)
		return st;
	st = vkb_upload(&b, &dev->points, 0, points, sizeof(points), err);
	if (st == LMD_OK)
		return vkb_submit(&b, NULL, NULL, err);
	vkb_abandon(&b);
	return st;
}
