#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks with systemd-analyze that the unit is valid and restricted as intended.
build=${LMD_TEST_BUILDDIR:-.}
src=${LMD_TEST_SRCDIR:-.}
limit=2.5
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
failed=0

bad() {
	echo "FAIL: $*"
	failed=1
}

if ! command -v systemd-analyze >/dev/null; then
	echo "SKIP: systemd unit: systemd-analyze is missing"
	exit 77
fi
# the program in ExecStart must exist
sed "s|@bindir@/llamad|$build/llamad|" "$src/systemd/llamad.service.in" >"$dir/llamad.service"
cp "$src/systemd/llamad-http.socket" "$dir"
systemd-analyze verify --man=no "$dir/llamad-http.socket" "$dir/llamad.service" 2>"$dir/err"
if grep -q llamad "$dir/err"; then
	bad "systemd-analyze verify: $(grep llamad "$dir/err")"
fi
# the template differs in what an instance has of its own
sed -f "$src/systemd/instance.sed" "$dir/llamad.service" >"$dir/llamad@.service"
[ "$(diff "$dir/llamad.service" "$dir/llamad@.service" | grep -c '^>')" = 5 ] ||
	bad "llamad@.service: $(diff "$dir/llamad.service" "$dir/llamad@.service")"
cp "$dir/llamad@.service" "$dir/llamad@two.service"
systemd-analyze verify --man=no "$dir/llamad@two.service" 2>"$dir/err"
if grep -q llamad "$dir/err"; then
	bad "systemd-analyze verify: $(grep llamad "$dir/err")"
fi
for drop_in in "" "$src/systemd/net.conf" "$src/systemd/gpu.conf"; do
	rm -rf "$dir/llamad.service.d"
	if [ -n "$drop_in" ]; then
		mkdir "$dir/llamad.service.d" && cp "$drop_in" "$dir/llamad.service.d/"
	fi
	case $drop_in in
	*gpu.conf) limit=4.5 ;;
	esac
	systemd-analyze verify --man=no "$dir/llamad.service" 2>"$dir/err" ||
		bad "systemd-analyze verify: $(cat "$dir/err")"
	# ignore errors of other units of the machine
	if grep -q llamad.service "$dir/err"; then
		bad "systemd-analyze verify: $(grep llamad.service "$dir/err")"
	fi
	if [ -n "$drop_in" ]; then
		# --offline ignores drop-ins, so merge the files
		sed '1,/^\[Service\]/d' "$drop_in" >"$dir/more"
		# its keys replace those of the file, except that address families add up
		sed -n 's/^\([A-Za-z]*\)=.*/^\1=/p' "$dir/more" | grep -v Families >"$dir/keys"
		grep -v -f "$dir/keys" "$dir/llamad.service" |
			sed "/^\[Service\]/r $dir/more" >"$dir/whole.service"
	else
		cp "$dir/llamad.service" "$dir/whole.service"
	fi
	systemd-analyze security --offline=yes --no-pager "$dir/whole.service" >"$dir/out" 2>&1
	score=$(sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p' "$dir/out")
	if [ -z "$score" ]; then
		echo "SKIP: systemd unit: this systemd-analyze cannot analyse a file"
		exit $failed
	fi
	echo "exposure ${drop_in:+with $(basename "$drop_in") }$score, at most $limit"
	awk "BEGIN { exit !($score <= $limit) }" || bad "exposure $score is above $limit"
done
exit $failed
