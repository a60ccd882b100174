#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Generates core/quant_search/iq_grids.gen.c from the packed codes of the IQ tensor types, or the numbers
alone, for devices.

    build-aux/iq-grids.py CODES.bin > core/quant_search/iq_grids.gen.c
    build-aux/iq-grids.py CODES.bin --numbers > plugins/backend/common/iq_codes.gen.h

CODES.bin: 4608 little-endian u16, the six tables of core/quant_search/iq_grids.h in order."""
import struct
import sys

TABLES = [("IQ2_XXS", 256), ("IQ2_XS", 512), ("IQ2_S", 1024),
          ("IQ3_XXS", 256), ("IQ3_S", 512), ("IQ1_S, IQ1_M", 2048)]

data = open(sys.argv[1], "rb").read()
total = sum(n for _, n in TABLES)
if len(data) != 2 * total:
    sys.exit("%s: %d bytes, expected %d" % (sys.argv[1], len(data), 2 * total))
codes = struct.unpack("<%dH" % total, data)
numbers = sys.argv[2:] == ["--numbers"]
if numbers:
    print("""/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/iq-grids.py: the numbers of core/quant_search/iq_grids.gen.c, for devices. */""")
else:
    print("""/* SPDX-License-Identifier: MIT
 *
 * Made by build-aux/iq-grids.py.  The points of the grids are data, not a rule. */
#include "core/quant_search/iq_grids.h"

const uint16_t lmi_search_iq_codes[LMI_SEARCH_IQ_N_CODES] = {""")
at = 0
for name, n in TABLES:
    table = codes[at:at + n]
    if list(table) != sorted(set(table)):
        sys.exit("%s: codes do not ascend" % name)
    print("\t/* %s: %d */" % (name, n))
    for i in range(0, n, 12):
        print("\t" + " ".join("%d," % c for c in table[i:i + 12]))
    at += n
if not numbers:
    print("};")
