#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes configure from a git checkout (needs autoconf, automake, libtool, pkg-config).
set -e
cd "$(dirname "$0")"
exec autoreconf -fi
