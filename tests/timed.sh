#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs a test program and adds to its log how long it took: timed.sh PROGRAM [ARGUMENT...]
begin=$(date +%s)
"$@"
status=$?
echo "TIME: $(($(date +%s) - begin)) s"
exit $status
