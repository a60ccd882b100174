#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes configure from a git checkout (needs autoconf, automake, libtool, pkg-config).
set -e
cd "$(dirname "$0")"
autoreconf -fi
# libtool says "copying selected object files to avoid basename conflicts..." even with --silent.  Files
# of one name in several folders are meant here, and copying their objects is right.
sed '/^[[:space:]]*echo "copying selected object files/d' build-aux/ltmain.sh >build-aux/ltmain.tmp
cat build-aux/ltmain.tmp >build-aux/ltmain.sh
rm build-aux/ltmain.tmp
