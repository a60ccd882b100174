#!/bin/sh
# SPDX-License-Identifier: MIT
# Requests that could be read in two ways are refused, limits hold on both sides, slow clients are cut
# off, many connections cost little.
. "${LMD_TEST_SRCDIR:-.}/tests/http/daemon.sh"
command -v python3 >/dev/null || {
	echo "SKIP: there is no python3"
	exit 77
}

printf '[limits]\nhttp_body = 64K\nconnections = 300\nconnections_per_user = 300\n' >"$dir/conf"
start_http
raw framing "$http"
raw limits "$http"
raw idle "$http" "$daemon"
stop
printf '[limits]\nmessage_time = 500ms\nidle = 700ms\n' >"$dir/conf"
start_http
raw slow "$http"
stop
: >"$dir/conf"
start_http
raw bodies "$http"
stop
finish "framing"
