#!/bin/sh
# SPDX-License-Identifier: MIT
# The unit is sound, and as closed as it is meant to be: systemd-analyze says so.
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
	echo "SKIP: systemd unit: there is no systemd-analyze"
	exit 77
fi
# the program that is named must be there
sed "s|@bindir@/llamad|$build/llamad|" "$src/systemd/llamad.service.in" >"$dir/llamad.service"
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
	# other units of the machine may have troubles of their own
	if grep -q llamad.service "$dir/err"; then
		bad "systemd-analyze verify: $(grep llamad.service "$dir/err")"
	fi
	if [ -n "$drop_in" ]; then
		# what a drop-in changes is not seen by --offline: the file as a whole is
		sed '1,/^\[Service\]/d' "$drop_in" >"$dir/more"
		# its keys in place of those of the file; of address families both count
		sed -n 's/^\([A-Za-z]*\)=.*/^\1=/p' "$dir/more" | grep -v Families >"$dir/keys"
		grep -v -f "$dir/keys" "$dir/llamad.service" |
			sed "/^\[Service\]/r $dir/more" >"$dir/whole.service"
	else
		cp "$dir/llamad.service" "$dir/whole.service"
	fi
	systemd-analyze security --offline=yes --no-pager "$dir/whole.service" >"$dir/out" 2>&1
	score=$(sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p' "$dir/out")
	if [ -z "$score" ]; then
		echo "SKIP: systemd unit: this systemd-analyze cannot judge a file"
		exit $failed
	fi
	echo "exposure ${drop_in:+with $(basename "$drop_in") }$score, at most $limit"
	awk "BEGIN { exit !($score <= $limit) }" || bad "exposure $score is above $limit"
done
exit $failed
