#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes tests/pictures/oriented.gen.h: a picture of 12 x 8 pixels in JPEG files with each orientation, in both byte
orders, and what Pillow's ImageOps.exif_transpose makes of them.
Usage: oriented.py > tests/pictures/oriented.gen.h   (needs pillow)"""
import io

import PIL
from PIL import Image, ImageOps


def table(name, data):
    print("LMD_UNUSED static const uint8_t %s[] = {" % name)
    for i in range(0, len(data), 24):
        print("\t" + ", ".join(str(v) for v in data[i:i + 24]) + ",")
    print("};")


print("""/* SPDX-License-Identifier: MIT
 *
 * Made by tests/pictures/oriented.py with Pillow %s. */
#ifndef LLAMAD_TESTS_PICTURES_ORIENTED_GEN_H
#define LLAMAD_TESTS_PICTURES_ORIENTED_GEN_H

#include <stdint.h>

#include "llamad/attr.h"
""" % PIL.__version__)
picture = Image.new("RGB", (12, 8))
for y in range(8):
    for x in range(12):
        picture.putpixel((x, y), (x * 20 + 10, y * 30 + 10, 100 + x * 3 + y * 5))
for orientation in range(1, 9):
    exif = Image.Exif()
    exif.endian = "<" if orientation % 2 else ">"
    exif[0x010F] = "a camera"
    exif[0x0112] = orientation
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=95, subsampling=0, exif=exif)
    seen = ImageOps.exif_transpose(Image.open(io.BytesIO(out.getvalue()))).convert("RGB")
    assert seen.size == ((8, 12) if orientation > 4 else (12, 8))
    table("file_%d" % orientation, out.getvalue())
    table("rgb_%d" % orientation, seen.tobytes())
print("\n#endif /* LLAMAD_TESTS_PICTURES_ORIENTED_GEN_H */")
