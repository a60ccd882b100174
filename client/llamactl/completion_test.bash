# SPDX-License-Identifier: MIT
# Reads lines from standard input, LINE with the cursor at its end and after a | what is to be offered,
# and completes each as bash does: words are cut at blanks and at = and : as well.
. "$1"
program=$2 failed=0
while IFS='|' read -r line want; do
	mapfile -t COMP_WORDS < <(printf '%s' "${line/#llamactl/$program}" |
		sed 's/[:=][:=]*/\n&\n/g; s/  */\n/g; s/\n\n*/\n/g')
	[[ $line == *' ' ]] && COMP_WORDS+=("")
	COMP_LINE=${line/#llamactl/$program} COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_llamactl
	have=$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ',')
	[[ $have == "$want," ]] || { echo "'$line' offers $have not $want"; failed=1; }
done
exit $failed
