#!/bin/sh
# SPDX-License-Identifier: MIT
# What `llamactl doctor` finds on machines that lack something, and that `llamactl bug-report` has
# no secrets.
. "${LMD_TEST_SRCDIR:-.}/tests/daemon.sh"

HOME=$dir/home STATE_DIRECTORY=$dir/home/state XDG_RUNTIME_DIR=$dir/run LLAMAD_SYSTEM_ROOT=$dir/root
export HOME STATE_DIRECTORY XDG_RUNTIME_DIR LLAMAD_SYSTEM_ROOT
unset LLAMAD_KEY
mkdir -p "$HOME" "$XDG_RUNTIME_DIR" "$dir/root"

# finds STATE SUBJECT PATTERN [COMMAND]: the last report has this finding
finds() {
	holds "no $1 $2 '$3': $(cat "$dir/out")" grep -q "^$1  *$2  .*$3" "$dir/out"
	if [ -n "${4:-}" ]; then
		holds "after $2 '$3', try: $4: $(cat "$dir/out")" \
			sh -c "grep -A1 '^$1  *$2  .*$3' '$dir/out' | grep -q -e '^  *try: .*$4'"
	fi
}

doctor() {
	"$build/llamactl" doctor "$@" >"$dir/out" 2>"$dir/err"
	got=$?
}

# a new machine: nothing is broken, and nothing is created
if [ ! -S /run/llamad/llamad.sock ] && [ ! -e /etc/llamad/llamad.conf ]; then
	doctor
	holds "status of a new machine: $(cat "$dir/out" "$dir/err")" [ $got -eq 0 ]
	finds note daemon 'none runs' 'llamactl serve MODEL'
	finds ok config 'the defaults apply'
	holds "the port" grep -q '^....  port      8080' "$dir/out"
	holds "nothing is broken" grep -q '^Nothing is broken; [0-9]* warning' "$dir/out"
	"$build/llamactl" doctor --json >"$dir/json"
	holds "JSON" grep -q '"subject": "gpu"' "$dir/json"
	holds "JSON: command" grep -q '"command": "llamactl serve MODEL"' "$dir/json"
else
	skip "this machine has a daemon or a configuration"
fi
doctor
finds ok state 'will be created'
finds ok gpu 'none on the PCI bus'
finds ok plugins 'backends .*cpu'
holds "the folder of models was created" [ ! -e "$STATE_DIRECTORY" ]

# the folder of models
mkdir -m 755 "$STATE_DIRECTORY"
doctor
finds warn state 'other users may look into it (mode 0755)' "chmod 700 $STATE_DIRECTORY"
rmdir "$STATE_DIRECTORY" && touch "$STATE_DIRECTORY"
doctor
holds "status of a failure" [ $got -eq 1 ]
finds FAIL state 'is not a folder' "ls -ld"
holds "the sum: $(cat "$dir/err")" grep -q '^llamactl doctor: 1 of [0-9]* checks failed' "$dir/err"
rm "$STATE_DIRECTORY"


# plugins
mkdir -m 755 "$dir/plugins" && echo "no plugin" >"$dir/plugins/x.so"
doctor --no-default-plugins --plugin-dir "$dir/plugins" --log error
finds FAIL plugins 'x.so is refused: not an ELF file' "ls -l $dir/plugins/x.so"
finds FAIL plugins 'there is no architecture' 'apt install llamad-plugins'

# GPUs: without a driver, without permission, and a service that may not use one
gpu=$dir/root/sys/bus/pci/devices/0000:01:00.0
mkdir -p "$gpu" "$dir/root/dev" "$dir/root/etc/systemd/system"
echo 0x030000 >"$gpu/class"
echo 0x10de >"$gpu/vendor"
none="--no-default-plugins --plugin-dir $dir/empty --log error"
mkdir -m 755 "$dir/empty"
# shellcheck disable=SC2086 # options
doctor $none
finds warn gpu '1 of NVIDIA.*no /dev/nvidiactl' 'apt install nvidia-driver'
touch "$dir/root/dev/nvidiactl"
# shellcheck disable=SC2086
doctor $none
finds warn gpu 'neither backend cuda nor vulkan is installed' \
	'apt install llamad-plugins-cuda, or llamad-plugins-vulkan'
finds note gpu 'no persistence' 'systemctl enable --now nvidia-persistenced'
mkdir -p "$dir/root/run/nvidia-persistenced"
touch "$dir/root/run/nvidia-persistenced/socket"
# shellcheck disable=SC2086
doctor $none
if grep -q 'no persistence' "$dir/out"; then bad "persistence is there"; else ok; fi
if [ "$(id -u)" != 0 ]; then
	for mode in 0 400; do
		chmod $mode "$dir/root/dev/nvidiactl"
		# shellcheck disable=SC2086
		doctor $none
		finds warn gpu 'may not open /dev/nvidiactl' 'usermod -aG'
	done
fi
echo 0x8086 >"$gpu/vendor"
mkdir -p "$dir/root/dev/dri"
touch "$dir/root/dev/dri/card0"
# shellcheck disable=SC2086
doctor $none
finds warn gpu '1 of Intel.*no /dev/dri/renderD\*' 'mesa-vulkan-drivers'
touch "$dir/root/dev/dri/renderD128"
# shellcheck disable=SC2086
doctor $none
finds warn gpu 'backend vulkan is not installed' 'apt install llamad-plugins-vulkan'
if "$build/llamactl" plugins --factories --log error | grep -q 'backend  *vulkan '; then
	# the backend is there, and the loader finds no driver
	VK_DRIVER_FILES=$dir/none.json VK_ICD_FILENAMES=$dir/none.json doctor --log error
	finds warn gpu '1 of Intel, and models cannot use it: backend vulkan: ' 'run --backend vulkan'
fi
echo 0x10de >"$gpu/vendor"
touch "$dir/root/etc/systemd/system/llamad.service"
# shellcheck disable=SC2086
doctor $none
finds warn gpu 'its drop-in gpu.conf is missing' 'daemon-reload'
finds note network 'llamactl pull.*net.conf' 'install -Dm644 /usr/share/doc/llamad/net.conf .*restart llamad$'
echo 0x060000 >"$gpu/class"
doctor
finds ok gpu 'none on the PCI bus'

# a daemon: its models, and one that is gone
"$build/tests/mktiny" full 5 "$HOME/tiny.gguf" || exit 99
doctor --socket "ipc://$dir/nobody"
finds FAIL daemon 'no server is listening' llamad
start
secret=a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0
does add tiny "$HOME/tiny.gguf"
does alias tiny "$secret"
doctor --socket "$url"
finds ok daemon "llamad .* answers at $url"
finds ok http "answers at unix:$dir/sock-http.sock"
finds ok models '1 registered'
finds ok keys 'none expires within 7 days'
does key add lasting --expires 200h
does key add short --expires 50h
doctor --socket "$url"
finds warn keys "the key .short. expires in \(49\|50\) hours" 'llamactl key add NAME'
holds "a key with more time" sh -c "! grep -q lasting '$dir/out'"
does key rm short
does key add shorter --expires 30m
doctor --socket "$url"
finds warn keys "the key .shorter. expires in less than 2 hours"
does key rm shorter

# an archive without the secret and without the user's folder
does bug-report -o "$dir/report.tar"
holds "mode of the archive" [ "$(stat -c %a "$dir/report.tar")" = 600 ]
(cd "$dir" && tar xf report.tar) || bad "tar cannot read the archive"
set -- "$dir"/llamad-bug-report-*/
for name in doctor version llamad-version settings status devices models stats plugins kernel; do
	holds "$name.txt: $(cat "$1$name.txt")" sh -c "! grep -q 'cannot be run\|^exit status' '$1$name.txt'"
	holds "$name.txt is empty" [ -s "$1$name.txt" ]
done
holds "the model is not in it" grep -q tiny "$1models.txt"
holds "the path is not shortened" grep -q '~/tiny.gguf' "$1models.txt"
holds "the secret is in it" sh -c "! grep -rq $secret '$1'"
holds "the home folder is in it" sh -c "! grep -rq '$HOME' '$1'"
refused 1 'File exists' bug-report -o "$dir/report.tar"
does bug-report --json -o "$dir/second.tar"
holds "JSON" grep -q '"path": ".*/second.tar"' "$dir/out"

rm "$HOME/tiny.gguf"
# a socket for HTTP whose queue of connections is full
mkfifo "$dir/hold"
rm "$dir/sock-http.sock"
if command -v python3 >/dev/null; then
	python3 -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(0)
held = []
try:
    while True:
        c = socket.socket(socket.AF_UNIX)
        c.setblocking(False)
        c.connect(sys.argv[1])
        held.append(c)
except BlockingIOError:
    pass
open(sys.argv[1] + ".full", "w").close()
sys.stdin.read()' "$dir/sock-http.sock" <"$dir/hold" &
	holder=$!
	exec 9>"$dir/hold"
	tries=0
	until [ -e "$dir/sock-http.sock.full" ] || [ $tries -gt 1200 ]; do
		tries=$((tries + 1))
		sleep 0.05 # looks again; nothing depends on its length
	done
	doctor --socket "$url"
	finds warn http 'so many waiting connections'
	exec 9>&-
	wait $holder
else
	skip "no python3"
fi
doctor --socket "$url"
finds warn models "the file of model .tiny. is gone" 'llamactl rm tiny'
stop
finish doctor
