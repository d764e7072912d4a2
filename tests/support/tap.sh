# SPDX-License-Identifier: LGPL-2.1-or-later
# What the tests that are shell scripts share: an empty folder, $work, which goes when the script ends, and one line of TAP for
# each case. Sourced by bash; the script prints the plan and ends with: exit "$failed"
# shellcheck shell=bash
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

count=0 failed=0
# check NAME COMMAND...: one case, passed when the command succeeds. Of one that fails, what it printed follows.
check() {
  local name=$1 verdict=ok
  shift
  count=$((count + 1))
  "$@" >"$work/log" 2>&1 || { verdict='not ok' failed=1; }
  echo "$verdict $count - $name"
  [[ $verdict == ok ]] || sed 's/^/# /' "$work/log"
}

# gives STATUS ARGUMENT...: runs the program $tool; its output is in $work/out and $work/err; a crash has another status
gives() {
  local status=0 wanted=$1
  shift
  "$tool" "$@" >"$work/out" 2>"$work/err" || status=$?
  cat "$work/out" "$work/err"
  echo "status $status"
  [[ $status == "$wanted" ]]
}

# skip NAME REASON: a case that cannot run here.
skip() {
  count=$((count + 1))
  echo "ok $count - $1 # SKIP $2"
}
