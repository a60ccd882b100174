#!/bin/sh
# SPDX-License-Identifier: MIT
# Without a login session (no XDG_RUNTIME_DIR) the daemon of a plain user and the clients meet in
# /tmp/llamad-UID, and refuse that folder if somebody else could have made it.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"

cannot() {
	echo "SKIP: default_socket_test: $*"
	exit 77
}
[ ! -e /run/llamad/llamad.sock ] || cannot "the system's llamad runs here"
uid=$(id -u)
as_user=
if [ "$uid" = 0 ]; then
	command -v setpriv >/dev/null || cannot "there is no setpriv to become a plain user"
	uid=64911
	as_user="setpriv --reuid $uid --regid $uid --clear-groups"
fi
folder=/tmp/llamad-$uid
[ ! -e $folder ] || cannot "$folder is in use"
chmod 755 "$dir"
mkdir "$dir/bin" && mkdir -m 777 "$dir/home" && chmod 777 "$dir/home"
cp "$build/llamad" "$build/llamactl" "$dir/bin/"
cp -r "$build/plugins/.libs" "$dir/plugins" 2>/dev/null
[ ! -d "$dir/plugins" ] || chmod -R go-w,a+rX "$dir/plugins"
chmod a+rx "$dir/bin" "$dir/bin"/*
daemon=
trap '[ -z "$daemon" ] || kill $daemon; wait; rm -rf "$dir" $folder' EXIT

# as the user, without the variables of a session
user="env -u XDG_RUNTIME_DIR -u RUNTIME_DIRECTORY -u STATE_DIRECTORY HOME=$dir/home PYTHONPATH=$dir $as_user"
ctl() {
	$user "$dir/bin/llamactl" "$@"
}
$user "$dir/bin/llamactl" --version >/dev/null 2>&1 || cannot "user $uid cannot start programs of $dir"

refused 1 "$folder/llamad.sock" ping
$user "$dir/bin/llamad" --plugin-dir "$dir/plugins" >"$dir/log" 2>&1 &
daemon=$!
until ctl ping >/dev/null 2>&1; do
	kill -0 $daemon 2>/dev/null || { cat "$dir/log"; bad "llamad does not start"; daemon=; finish "default socket"; }
	sleep 0.05
done
holds "the folder is the user's alone" [ "$(stat -c '%u %a' $folder)" = "$uid 700" ]
prints . ping
if /usr/bin/python3 -c 'import msgpack' 2>/dev/null; then
	cp -r "$src/bindings/python/llamad" "$dir/llamad" && chmod -R a+rX "$dir/llamad"
	$user /usr/bin/python3 -c '
import llamad
with llamad.Client() as c:
    c.models()' >"$dir/out" 2>&1 && ok || bad "Python: $(cat "$dir/out")"
else
	skip "the client in Python: there is no msgpack"
fi
kill $daemon && wait $daemon
daemon=

# a folder that others may enter, or that is another's
chmod 755 $folder
refused 1 "$folder: must be a folder of user $uid with mode 0700" ping
$user "$dir/bin/llamad" --plugin-dir "$dir/plugins" >"$dir/log" 2>&1 && bad "llamad starts in an open folder" || ok
grep -q "$folder: must be a folder of user $uid" "$dir/log" && ok || bad "llamad says: $(cat "$dir/log")"
if [ -n "$as_user" ]; then
	chmod 700 $folder && chown 0 $folder
	refused 1 "must be a folder of user $uid" ping
fi
finish "default socket"
