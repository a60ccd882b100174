#!/bin/sh
# SPDX-License-Identifier: MIT
# A backend of a folder that was added, whose file is not root's, runs in a process of its own without being
# told so (isolation = auto).
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

cannot() {
	echo "SKIP: untrusted_test: $*"
	exit 77
}
[ -f "$build/plugins/.libs/backend-ref.so" ] || cannot "plugins are linked in"
uid=$(id -u)
as_user=
if [ "$uid" = 0 ]; then
	command -v setpriv >/dev/null || cannot "there is no setpriv to become a plain user"
	uid=64912
	as_user="setpriv --reuid $uid --regid $uid --clear-groups"
fi
python=$(command -v python3) || cannot "there is no python3"
chmod 755 "$dir"
mkdir "$dir/bin" "$dir/home"
cp "$build/llamad" "$build/llamactl" "$dir/bin/"
chmod a+rx "$dir/bin" "$dir/bin"/*
cp -r "$build/plugins/.libs" "$dir/plugins"
chmod -R go-w,a+rX "$dir/plugins"
"$build/tests/mktiny" full 5 "$dir/full.gguf" || exit 99
"$build/tests/mktiny" tower:mlp 0 "$dir/mmproj-full.gguf" || exit 99
chmod 644 "$dir/full.gguf" "$dir/mmproj-full.gguf"
[ -z "$as_user" ] || chown -R $uid "$dir/home" "$dir/plugins"
user="env -u XDG_RUNTIME_DIR -u RUNTIME_DIRECTORY -u STATE_DIRECTORY HOME=$dir/home $as_user"
$user "$dir/bin/llamactl" --version >/dev/null 2>&1 || cannot "user $uid cannot start programs of $dir"
daemon=
trap '[ -z "$daemon" ] || kill $daemon; wait; rm -rf "$dir"' EXIT

ctl() {
	$user "$dir/bin/llamactl" --socket "ipc://$dir/home/sock" "$@"
}

# worker KEYS [MODEL-KEYS]: starts a daemon with these keys of [engine] and of [model m]; leaves the number of the model's process in $pid, and
# how many processes the daemon has in $n_process
worker() {
	printf '[engine]\nbackend = ref\nthreads = 1\n%s\n[plugins]\nplugin_dir = %s\n[model m]\n%s\n' "$1" "$dir/plugins" \
		"${2:-}" >"$dir/conf"
	chmod 644 "$dir/conf"
	$user "$dir/bin/llamad" --config "$dir/conf" --socket "ipc://$dir/home/sock" --state-dir "$dir/home/state" \
		>"$dir/log" 2>&1 &
	daemon=$!
	until ctl ping >/dev/null 2>&1; do
		kill -0 $daemon 2>/dev/null || { bad "llamad does not start: $(cat "$dir/log")"; finish "untrusted"; }
		sleep 0.05 # asks again; nothing depends on its length
	done
	[ -n "$added" ] || ctl add m "$dir/full.gguf" >"$dir/out" 2>&1 || bad "add: $(cat "$dir/out")"
	added=1
	ctl generate m -p "A B" -n 3 --temp 0 --ignore-eos >"$dir/out" 2>&1 || bad "generate: $(cat "$dir/out")"
	ctl ps --json >"$dir/ps"
	pid=$("$python" -c 'import json, sys
print(json.load(open(sys.argv[1]))[0]["placement"][0].get("pid", 0))' "$dir/ps")
	n_process=$(cat /proc/$daemon/task/*/children | wc -w)
	kill $daemon
	wait $daemon
	daemon=
}

added=
worker ""
holds "a process of its own: $pid" [ "$pid" -gt 0 ]
holds "one for its vision tower: $n_process" [ "$n_process" -eq 2 ]
worker "isolation = off"
holds "not if that is off: $pid" [ "$pid" = 0 ]
holds "nor for its vision tower: $n_process" [ "$n_process" -eq 0 ]
worker "isolation = off" "isolation = auto"
holds "auto for one model: $pid" [ "$pid" -gt 0 ]
if [ -n "$as_user" ]; then
	chown -R 0 "$dir/plugins"
	worker ""
	holds "not for a file of root: $pid" [ "$pid" = 0 ]
	worker "isolation = process" "isolation = auto"
	holds "auto in place of process, for a file of root: $pid" [ "$pid" = 0 ]
else
	skip "a file of root: this user cannot make one"
fi
finish "plugins that are not trusted"
