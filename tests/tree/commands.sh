#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every ./run command explains itself and does nothing else when asked to. TAP.
# Usage: commands.sh SOURCE_ROOT
set -uo pipefail
top=$1
source "$(dirname "$(readlink -f "$0")")/../support/tap.sh"
cd "$work" || exit

# explains COMMAND OPTION: status 0, the usage on stdout, nothing on stderr. PATH has no compiler, no
# meson and no apt, so that a command that begins its work fails.
explains() {
  local status=0
  PATH=$work/bin "$top/run" "$1" "$2" >"$work/out" 2>"$work/err" </dev/null || status=$?
  cat "$work/out" "$work/err"
  [[ $status == 0 && ! -s $work/err ]] && grep -q "^usage: ./run $1\>" "$work/out"
}

# refuses STATUS TEXT ARGUMENT...
refuses() {
  local expected=$1 text=$2 status=0
  shift 2
  PATH=$work/bin "$top/run" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  cat "$work/out" "$work/err"
  [[ $status == "$expected" ]] && grep -qF -- "$text" "$work/err"
}

lists() {
  local name
  "$top/run" "$@" >"$work/out" && cat "$work/out"
  for name in "${commands[@]}"; do grep -q "^  $name " "$work/out" || { echo "no line for $name"; return 1; }; done
}

mkdir bin
for tool in awk bash cat dirname env expand grep head id readlink sed; do ln -s "$(command -v "$tool")" bin/; done

commands=()
for script in "$top"/scripts/*; do
  [[ ! -x $script || -d $script || $script == *.* ]] || commands+=("${script##*/}")
done
echo "1..$((2 * ${#commands[@]} + 6))"
for command in "${commands[@]}"; do
  for option in --help -h; do check "$command $option" explains "$command" "$option"; done
done
for option in '' --help -h; do check "run${option:+ $option}: every command" lists ${option:+"$option"}; done
check "no such command" refuses 2 "no command 'nonsense'" nonsense
check "a helper is no command" refuses 2 "no command 'count-results.py'" count-results.py
check "an unknown option names the help" refuses 2 "./run demo --help" demo --nonsense
exit "$failed"
