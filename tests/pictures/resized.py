#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/pictures/resized.gen.h: pictures in files, what Pillow decodes from them, and what it makes of
them in other sizes.  Usage: resized.py > tests/pictures/resized.gen.h   (needs pillow and numpy)"""
import io
import sys

import numpy as np
import PIL
from PIL import Image


def source(w, h):
    y, x = np.mgrid[0:h, 0:w]
    return np.stack([x * 9 + 40, y * 13 + 200, (x * y) * 7 + 3], -1).astype(np.uint8)


def table(name, data):
    print("LMD_UNUSED static const uint8_t %s[] = {" % name)
    for i in range(0, len(data), 24):
        print("\t" + ", ".join(str(v) for v in data[i:i + 24]) + ",")
    print("};")


def picture(name, image, kind, want, **how):
    out = io.BytesIO()
    image.save(out, kind, **how)
    table("file_" + name, out.getvalue())
    table("rgb_" + name, np.asarray(want).astype(np.uint8).reshape(-1).tolist())


print("""/* SPDX-License-Identifier: MIT
 *
 * Made by tests/pictures/resized.py with Pillow %s. */
#ifndef LLAMAD_TESTS_PICTURES_RESIZED_GEN_H
#define LLAMAD_TESTS_PICTURES_RESIZED_GEN_H

#include <stdint.h>

#include "llamad/attr.h"
""" % PIL.__version__)
rgb = source(12, 8)
picture("png", Image.fromarray(rgb), "PNG", rgb, optimize=True)
alpha = np.dstack([rgb, np.where((np.mgrid[0:8, 0:12].sum(0) % 2) == 0, 255, 0).astype(np.uint8)])
white = np.where(alpha[:, :, 3:] == 255, rgb, 255)
picture("png_alpha", Image.fromarray(alpha, "RGBA"), "PNG", white, optimize=True)
gray = Image.fromarray(rgb[:, :, 0].copy())
picture("png_gray", gray, "PNG", np.asarray(gray.convert("RGB")), optimize=True)
few = Image.fromarray(rgb // 128 * 128).quantize(8)
picture("png_palette", few, "PNG", np.asarray(few.convert("RGB")), optimize=True)
smooth = Image.fromarray((source(12, 8) // 8 + 64).astype(np.uint8)).resize((12, 8), Image.BICUBIC)
for name, how in (("jpeg", {}), ("jpeg_progressive", {"progressive": True})):
    out = io.BytesIO()
    smooth.save(out, "JPEG", quality=90, subsampling=0, **how)
    picture(name, smooth, "JPEG", np.asarray(Image.open(io.BytesIO(out.getvalue())).convert("RGB")),
            quality=90, subsampling=0, **how)
big = Image.fromarray(source(23, 17))
for name, flt in (("bicubic", Image.BICUBIC), ("bilinear", Image.BILINEAR), ("lanczos", Image.LANCZOS)):
    for w, h in ((8, 6), (31, 20)):
        table("resized_%s_%d" % (name, w), np.asarray(big.resize((w, h), flt)).reshape(-1).tolist())
print("\n#endif /* LLAMAD_TESTS_PICTURES_RESIZED_GEN_H */")
