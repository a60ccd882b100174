# SPDX-License-Identifier: MIT
# Sourced by the tests of the Vulkan backend.  Leaves with status 77 if there is no lavapipe (Mesa's
# driver that computes on the CPU).  With the validation layers, `silent` fails if they have said anything.
[ -n "${url:-}" ] || . "${LMD_TEST_SRCDIR:-.}/tests/cli.sh" # or that of a daemon, which brings it
# shellcheck disable=SC2034 # for the tests
so=$build/plugins/.libs/backend-vulkan.so
[ -f "$so" ] || { echo "SKIP: the Vulkan backend is not built as a plugin"; exit 77; }
for icd in /usr/share/vulkan/icd.d/lvp_icd.*.json none; do
	[ -f "$icd" ] && break
done
[ -f "$icd" ] || { echo "SKIP: lavapipe is not installed (mesa-vulkan-drivers)"; exit 77; }
# the tests leave nothing in the user's folder
LLAMAD_VULKAN=cache=0
export LLAMAD_VULKAN
VK_DRIVER_FILES=$icd VK_ICD_FILENAMES=$icd LP_NUM_THREADS=1
export VK_DRIVER_FILES VK_ICD_FILENAMES LP_NUM_THREADS
call plugins test "$so" --only "cast_copy"
case $(cat "$dir/err") in
*libvulkan.so*) echo "SKIP: libvulkan is not installed (libvulkan1)"; exit 77 ;;
esac

layers=no
[ -f /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] && layers=yes
# Every instance of Vulkan opens the layers' log and empties it, so it is a pipe.
listen() {
	[ -p "$dir/layers" ] || mkfifo "$dir/layers"
	# the reader inherits its end, so that it sees the end of the pipe however early this one is closed
	exec 9<>"$dir/layers" 8<"$dir/layers"
	cat <&8 >>"$dir/messages" 8<&- 9>&- &
	listener=$!
	exec 8<&-
}
stop_listening() {
	[ -n "${listener:-}" ] || return 0
	exec 9>&-
	wait "$listener"
	listener=
}
# with_layers [KIND]: the following programs run with validation of all calls and of synchronisation, or with
# another kind of validation (GPU_ASSISTED)
with_layers() {
	[ $layers = yes ] || { skip "there are no validation layers (vulkan-validationlayers)"; return; }
	kind=${1:-SYNCHRONIZATION_VALIDATION}
	[ -n "${listener:-}" ] || listen
	cat >"$dir/vk_layer_settings.txt" <<-END
	khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
	khronos_validation.log_filename = $dir/layers
	khronos_validation.report_flags = error,warn,perf,info
	khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_${kind}_EXT
	END
	VK_LAYER_SETTINGS_PATH=$dir VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
	export VK_LAYER_SETTINGS_PATH VK_INSTANCE_LAYERS
}
# silent TEXT: the layers were there and had nothing to say
silent() {
	[ $layers = yes ] || return 0
	stop_listening
	awk '/^[^ ]*\((ERROR|WARN|PERF|INFO) / { said = !/\(INFO / }
		said' "$dir/messages" >"$dir/said"
	if ! grep -q 'Khronos Validation Layer Active' "$dir/messages"; then
		bad "$1: the validation layers did not run"
	elif [ -s "$dir/said" ]; then
		bad "$1: validation messages: $(head -c 1000 "$dir/said")"
	else
		ok
	fi
	rm -f "$dir/messages"
	listen
}

# cases NAME: the conformance cases whose name contains it pass
cases() {
	does plugins test "$so" --only "$1"
	holds "$1: $(tail -n 1 "$dir/out")" grep -q '^[1-9][0-9]* passed, 0 failed' "$dir/out"
}

# on_device FILE LINE: all operations of the model run on the device: explain names no other one
on_device() {
	does explain "$1" --device vulkan0
	sed -n '/^devices/,/^$/p' "$dir/out" >"$dir/devices"
	holds "$1 has operations on vulkan0" grep -q '^  vulkan0 ' "$dir/devices"
	if grep -q '^  cpu ' "$dir/devices"; then
		bad "$1 has operations on the cpu: $(cat "$dir/devices")"
	else
		ok
	fi
}

# same FILE PROMPT N ACTIVATIONS OPTION...: N tokens are those of the cpu
same() {
	file=$1 prompt=$2 n=$3 act=$4
	shift 4
	does run "$file" --raw --temp 0 -n "$n" -p "$prompt" --backend cpu --activations "$act"
	cp "$dir/out" "$dir/expected"
	does run "$file" --raw --temp 0 -n "$n" -p "$prompt" --activations "$act" "$@"
	holds "$file, $*: $(cat "$dir/out") instead of $(cat "$dir/expected")" \
		cmp -s "$dir/out" "$dir/expected"
}
