# SPDX-License-Identifier: MIT
# Sourced by the tests of a private daemon; brings tests/cli.sh, whose ctl asks that daemon here.
# Gives $url, its socket, and $python with the modules of the client, or nothing.
. "${LMD_TEST_SRCDIR:-.}/tests/cli.sh"
url=ipc://$dir/sock
daemon=
trap '[ -z "$daemon" ] || kill "$daemon" 2>/dev/null; wait; rm -rf "$dir"' EXIT

ctl() {
	"$build/llamactl" --socket "$url" "$@"
}

# start OPTION...: returns when the daemon answers; what it logs is in $dir/log
start() {
	"$build/llamad" --socket "$url" --state-dir "$dir/state" "$@" 2>"$dir/log" &
	daemon=$!
	tries=0
	until ctl ping >/dev/null 2>"$dir/err"; do
		tries=$((tries + 1))
		if ! kill -0 "$daemon" 2>/dev/null || [ $tries -gt 1200 ]; then
			cat "$dir/log" "$dir/err"
			echo "FAIL: the daemon does not get ready"
			exit 1
		fi
		sleep 0.05 # asks again; nothing depends on its length
	done
}

# ended: the daemon, which was told to, ends with status 0
ended() {
	wait "$daemon"
	holds "the daemon's exit status" [ $? -eq 0 ]
	daemon=
}

# stop: by llamactl
stop() {
	does shutdown
	ended
}

python=
for program in /usr/bin/python3 python3; do
	"$program" -c 'import msgpack, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null &&
		python=$program && break
done

# py SCRIPT ARGUMENT...: a script of the package for Python
py() {
	script=$src/bindings/python/$1
	shift
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$src/bindings/python "$python" "$script" "$@"
}

# Node that runs the package for JavaScript
node_is_new() {
	command -v node >/dev/null && node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 18)'
}

# go_has PACKAGE...: go builds it
go_has() {
	command -v go >/dev/null && (cd "$src/bindings/go" && go vet "$@") >"$dir/err" 2>&1
}
