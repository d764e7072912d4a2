#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# gst-drm-inspect-1.0: natively with saved tables and machines; in the box also with devices. TAP.
# Usage: inspect.sh TOOL TESTS-DATA GOLDEN-TEXTS COMPLETION [FOLDER-OF-CRASH_GBM.SO]
# UPDATE=1 writes the golden texts anew.
set -uo pipefail
tool=$1 data=$2 golden=$3 completion=$4 backends=${5:-} docs=$2/../../docs
here=$(dirname "$(readlink -f "$0")")
source "$here/../support/tap.sh"
# no GPU of the machine that builds this: what is native here is the same everywhere
export __EGL_VENDOR_LIBRARY_FILENAMES=/dev/null VK_ICD_FILENAMES=/dev/null VK_DRIVER_FILES=/dev/null
unset WAYLAND_DISPLAY XDG_RUNTIME_DIR
# meson puts the folder of each library there that the test depends on: the libEGL is for the cases alone that name it
if [[ -n ${GST_DRM_TEST_FAKE_EGL:-} ]]; then
  folders=:${LD_LIBRARY_PATH:-}:
  folders=${folders//":$GST_DRM_TEST_FAKE_EGL:"/:}
  folders=${folders#:}
  export LD_LIBRARY_PATH=${folders%:}
fi

# the plugins are scanned here, where a warning of the scanner is in nobody's output
"$tool" --why fakesrc fakesink >/dev/null 2>&1

# the output is the golden text of that name
is_golden() {
  [[ -z ${UPDATE:-} ]] || cp "$work/out" "$golden/$1"
  diff -u "$golden/$1" "$work/out"
}

# GOLDEN STATUS ARGUMENT...
same_text() {
  local name=$1
  shift
  gives "$@" && is_golden "$name"
}

# TEXT ARGUMENT...: status 2, nothing on stdout, and one line with the text on stderr
refuses() {
  local text=$1
  shift
  gives 2 "$@" && [[ ! -s $work/out && $(wc -l <"$work/err") == 1 ]] && grep -qF -- "$text" "$work/err"
}

table() { echo "$data/egl-formats/$1.txt"; }

# NAME TEXT: a file of that content is refused with the text, by every command that reads it
bad_machine() {
  printf '%b' "$2" >"$work/bad.json"
  refuses "$1" --load "$work/bad.json" && refuses "$1" --matrix "$work/bad.json" &&
    refuses "$1" --why "$work/bad.json" "$(table llvmpipe)"
}

# What other programs write about real machines: one line says that it is no saved machine.
others_machines() {
  local file
  for file in "$data/machines"/*.json; do
    refuses 'is no saved machine, as --save makes it: it is JSON of another program' --load "$file" || return 1
  done
}

# CONTENT TEXT: a file of that content is read, and the text is in the list
reads_machine() {
  printf '%s' "$1" >"$work/good.json"
  gives 0 --load "$work/good.json" && grep -qF -- "$2" "$work/out"
}

machine() { printf '{"schema": "gst-drm-machine", "version": %s, "kernel": "k", "gstreamer": "g", "sources": [%s]}' "$1" "$2"; }
source_with() { printf '{"kind": "%s", "name": "%s", "device": "", "driver": "d", "description": "", "problem": "", "formats": [%s]}' "$@"; }
pair() { printf '{"format": "%s", "modifier": "%s", "external-only": false, "planes": %s}' "$@"; }

# Every command gives the same for a machine and for what was saved of it.
round_trip() {
  gives 0 --load "$golden/machine.json" --matrix && cp "$work/out" "$work/matrix" &&
    gives 0 --load "$golden/machine.json" && cp "$work/out" "$work/list" &&
    gives 0 --load "$golden/machine.json" --save "$work/again.json" && cmp "$golden/machine.json" "$work/again.json" &&
    gives 0 --load "$work/again.json" && cmp "$work/list" "$work/out" &&
    gives 0 --matrix "$work/again.json" && cmp "$work/matrix" "$work/out"
}

# square N SOURCES: a machine of N pairs, each with a modifier and a format of its own, and of so many sources
square() {
  python3 - "$1" "$2" <<'END'
import json, sys
size, sources = int(sys.argv[1]), int(sys.argv[2])
word = lambda i: chr(65 + i // 676 % 26) + chr(65 + i // 26 % 26) + chr(65 + i % 26) + 'Z'
pair = lambda i: {'format': word(i), 'modifier': f'0x{i:016x}', 'modifier-name': '', 'external-only': False, 'planes': 0}
source = lambda n: {'kind': 'kms', 'name': f's{n}', 'device': '', 'driver': '', 'description': '', 'problem': '',
                    'formats': [pair(i) for i in range(size)] if n == 0 else []}
print(json.dumps({'schema': 'gst-drm-machine', 'version': 1, 'kernel': '', 'gstreamer': '', 'sources': [source(n) for n in range(sources)]}))
END
}

# Pictures of what a small file can ask for are refused, and what is told of its pairs grows with them alone: within 1 GiB.
hostile_sizes() (
  ulimit -v 1048576
  square 11000 1 >"$work/square.json" && square 2000 4000 >"$work/sources.json" || return 1
  local form
  for form in svg html; do
    refuses 'a matrix of 1 source, 11000 modifiers and 11000 formats is too large to be drawn as a picture' --load "$work/square.json" --matrix --format "$form" || return 1
  done
  refuses 'a matrix of 4000 sources, 2000 modifiers and 2000 formats is too large to be drawn as text' --load "$work/sources.json" --matrix || return 1
  for form in square sources; do
    gives 0 --load "$work/$form.json" --matrix --format json >"$work/told" && gives 0 --load "$work/$form.json" >"$work/told" || return 1
  done
  gives 0 --load "$work/square.json" --matrix >"$work/told" && gives 0 --why "$work/square.json" "$work/square.json" >"$work/told" &&
    gives 1 --why "$work/square.json" "$(table llvmpipe)"
)

# Columns stay below their letters, of which the 27th has two.
many_columns() {
  square 27 30 >"$work/columns.json" && gives 0 --load "$work/columns.json" --matrix && python3 - "$work/out" <<'END'
import sys
head, row = open(sys.argv[1]).read().split('\n\n')[1].splitlines()[:2]
print(head, row, sep='\n')
starts = [i for i, c in enumerate(head) if c != ' ' and (i == 0 or head[i - 1] == ' ')][:30]
sys.exit(head[starts[26]:starts[26] + 3] != 'AA ' or head[starts[29]:starts[29] + 3] != 'AD ' or [row[i] for i in starts] != ['x'] + ['.'] * 29)
END
}

# The same name in two files: the matrix has the file with it, and --why takes what is written there.
two_machines() {
  cp "$golden/machine.json" "$work/other.json" && gives 0 --matrix --format json "$golden/machine.json" "$work/other.json" "$(table llvmpipe)" &&
    python3 - "$work/out" "$golden/machine.json#kms:card0:31" "$work/other.json#kms:card0:31" llvmpipe <<'END' &&
import json, sys
names = {s['name'] for p in json.load(open(sys.argv[1]))['pairs'] for s in p['sources']}
print(names)
sys.exit(not set(sys.argv[2:]) <= names)
END
    gives 0 --why "$golden/machine.json#kms:card0:31" "$work/other.json#kms:card0:31" &&
    refuses 'twice' --matrix "$work/other.json" "$work/other.json"
}

# A disk that is full leaves the old file as it was, and one line; a link stays a link, and a pipe is written into.
saves_whole_files() {
  cp "$golden/board.json" "$work/old.json" && ln -s old.json "$work/link.json" &&
    (trap '' XFSZ && ulimit -f 1 && refuses 'cannot write' --load "$golden/machine.json" --save "$work/old.json") &&
    cmp "$golden/board.json" "$work/old.json" && [[ $(echo "$work"/*old.json*) == "$work/old.json" ]] &&
    gives 0 --load "$golden/machine.json" --save "$work/link.json" && [[ -L $work/link.json ]] && cmp "$golden/machine.json" "$work/old.json" &&
    "$tool" --load "$golden/board.json" --save /dev/stdout | head -n -1 | cmp "$golden/board.json"
}

# Each prefix of a saved machine is refused in one line.
every_truncation() {
  local size at
  size=$(wc -c <"$golden/machine.json")
  for ((at = 0; at < size - 2; at += 97)); do
    head -c "$at" "$golden/machine.json" >"$work/cut.json"
    refuses "$work/cut.json" --load "$work/cut.json" || return 1
  done
}

svg_is_xml() {
  gives 0 --matrix --format svg "$(table amd-navi31)" "$(table asahi-g13g)" "$(table nouveau-nv106)" &&
    python3 -c 'import sys, xml.dom.minidom as m; d = m.parse(sys.argv[1]); n = len(d.getElementsByTagName("rect")); print(n); sys.exit(n < 400)' "$work/out"
}

# the picture of three GPUs in docs/ is what is drawn now
docs_has_three_gpus() {
  gives 0 --matrix --format svg "$(table freedreno-a660)" "$(table asahi-g13g)" "$(table nouveau-nv106)" && cmp "$docs/gst-drm-inspect-matrix.svg" "$work/out"
}

# The picture of the box in docs/ is that of the machine that was saved in it.
docs_has_the_box() {
  gives 0 --load "$golden/box.json" --matrix --format svg && { [[ -z ${UPDATE:-} ]] || cp "$work/out" "$docs/gst-drm-inspect-box.svg"; } && cmp "$docs/gst-drm-inspect-box.svg" "$work/out"
}

# That machine is the box: what its kernel lists, each pair; of libgbm, which is the machine's, the pairs that each version has.
is_the_box() {
  gives 0 --save "$work/box.json" && python3 - "$golden/box.json" "$work/box.json" <<'END'
import json, sys
def sources(path):
    return {s['name']: s for s in json.load(open(path))['sources']}
saved, live = map(sources, sys.argv[1:])
def pairs(source):
    return {(p['format'], p['modifier']) for p in source['formats']}
def is_same(name, source):
    if name.startswith('gbm:'):
        return {('XR24', '0x0000000000000000'), ('XR24', '0x00ffffffffffffff')} <= pairs(live[name]) & pairs(source)
    return live[name] == source
wrong = [name for name, source in saved.items() if name not in live or not is_same(name, source)]
print('not as saved:', wrong, 'kinds:', {name.split(':')[0] for name in saved})
sys.exit(bool(wrong) or {name.split(':')[0] for name in saved} != {'kms', 'gbm', 'v4l2'})
END
}

# One entry for each line of the table.
json_has_every_pair() {
  gives 0 --matrix --format json "$(table amd-navi31)" && python3 - "$work/out" "$(table amd-navi31)" <<'END'
import json, sys
pairs = {(p['format'].strip(), p['modifier']): p['sources'][0]['external-only'] for p in json.load(open(sys.argv[1]))['pairs']}
rows = [line.split() for line in open(sys.argv[2]) if not line.startswith('#')]
def name(word):
    return word if len(word) == 4 else int(word, 16).to_bytes(4, 'little').decode().strip()
wanted = {(name(f), m): e == '1' for f, m, e in rows}
print(len(wanted), len(pairs), set(wanted) ^ set(pairs))
sys.exit(wanted != pairs)
END
}

# The list of sources without the connectors and the memory of this machine, which no file has.
sources_alone() { awk '/^$/ { exit } /^[^ ]/ { of_card = 0 } !of_card { print } /^\/dev\/dri\/card/ { of_card = 1 }' "$@"; }

# MANIFEST TABLE: Vulkan's devices, live and saved; against another GPU
lists_vulkan() {
  export VK_ICD_FILENAMES=$1 VK_DRIVER_FILES=$1 GST_DRM_VULKAN_TEST=table=$2,node=226:250,name=GPU
  local status=0
  gives 0 && grep -q '^vulkan:226:250:sampled  sampled images of GPU' "$work/out" && sources_alone "$work/out" >"$work/live" &&
    gives 0 --save "$work/vulkan.json" && gives 0 --load "$work/vulkan.json" && cmp "$work/live" "$work/out" &&
    gives 0 --matrix && grep -q 'vulkan:226:250:drawn  colour attachments of GPU' "$work/out" && cp "$work/out" "$work/live" &&
    gives 0 --load "$work/vulkan.json" --matrix && cmp "$work/live" "$work/out" &&
    gives 0 --why vulkan:226:250:drawn "$(table amd-navi31)" && gives 2 --why vulkan:226:250 "$(table amd-navi31)" || status=1
  export VK_ICD_FILENAMES=/dev/null VK_DRIVER_FILES=/dev/null
  return $status
}

# TEXT...: the list is of the status that a machine with sources has, and each text is a whole line of it
lists() {
  local line
  gives 0 || return 1
  for line; do
    grep -qxF -- "$line" "$work/out" || { echo "no line: $line"; return 1; }
  done
}

# MANIFEST SETTINGS [SECOND-SETTINGS] COMMAND...: on a machine of the test driver for Vulkan; with second settings of two drivers
with_vulkan() (
  export VK_ICD_FILENAMES=$1 VK_DRIVER_FILES=$1 GST_DRM_VULKAN_TEST=$2 GST_DRM_VULKAN_TEST_SECOND=$3
  [[ -z $3 ]] || export VK_ICD_FILENAMES=$1:${1%.json}_second.json VK_DRIVER_FILES=$1:${1%.json}_second.json
  "${@:4}"
)

# MANIFEST TABLE: what one driver of Vulkan does costs its own source, with a line that names it, and no other one
bad_vulkan_drivers() {
  local good="table=$2,node=226:250" second=${1%.json}_second.json
  with_vulkan "$1" "$good,devices=3,crash=formats,faulty=1" '' lists 'vulkan:226:250-2  test' '  The driver of vulkan:226:250-2 crashed (SIGSEGV).' &&
    grep -q '^vulkan:226:250:sampled  sampled images of test' "$work/out" && grep -q '^vulkan:226:250-3:drawn  colour attachments of test' "$work/out" &&
    with_vulkan "$1" "$good,exit=formats" '' lists 'vulkan:226:250  test' '  The driver of vulkan:226:250 ended the process that asked it, with status 3.' &&
    with_vulkan "$1" "$good" "$good,crash=instance" lists 'vulkan:gstdrmtest_second  '"$second" "  The driver of vulkan:gstdrmtest_second crashed (SIGSEGV)." &&
    grep -q '^vulkan:226:250:sampled  sampled images of test' "$work/out" &&
    with_vulkan "$1" "$good,exit=devices" "$good" lists 'vulkan:gstdrmtest  '"$1" "  The driver of vulkan:gstdrmtest ended the process that asked it, with status 3." &&
    grep -q '^vulkan:226:250:drawn  colour attachments of test' "$work/out"
}

# MANIFEST TABLE: a driver that never answers; a driver that prints is none of the output's. The limit leaves a slow machine time
# to come to where the driver hangs, where that matters.
silent_and_loud_drivers() {
  local good="table=$2,node=226:250"
  GST_DRM_PROBE_TIMEOUT=10 with_vulkan "$1" "$good,hang=formats" '' lists '  The driver of vulkan:226:250 gave no answer within 10 s (GST_DRM_PROBE_TIMEOUT).' &&
    GST_DRM_PROBE_TIMEOUT=1 with_vulkan "$1" "$good,hang=devices" '' lists '  The driver of vulkan:gstdrmtest gave no answer within 1 s (GST_DRM_PROBE_TIMEOUT).' &&
    with_vulkan "$1" "$good" '' "$tool" --save "$work/quiet.json" && with_vulkan "$1" "$good,print=formats" '' "$tool" --save "$work/loud.json" &&
    cmp "$work/quiet.json" "$work/loud.json" && with_vulkan "$1" "$good,print=formats" '' "$tool" 2>"$work/err" >"$work/out" &&
    ! grep -q 'nobody asked for' "$work/out" && grep -q 'nobody asked for' "$work/err"
}

# Asked in a process of their own or in this one, drivers say the same.
asked_here() {
  with_vulkan "$1" "table=$2,devices=2" '' "$tool" --save "$work/apart.json" && GST_DRM_PROBE=no with_vulkan "$1" "table=$2,devices=2" '' "$tool" --save "$work/here.json" &&
    cmp "$work/apart.json" "$work/here.json"
}

# FOLDER: with the libEGL of the tests there, of three devices, the middle one's driver is bad
bad_egl_drivers() (
  export LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  local others="egl:software  EGL display of test"
  GST_DRM_FAKE_EGL=3:1:crash lists "$others" 'egl:software-2' '  The driver of egl:software-2 crashed (SIGSEGV).' 'egl:software-3  EGL display of test' &&
    GST_DRM_FAKE_EGL=3:1:exit lists "$others" '  The driver of egl:software-2 ended the process that asked it, with status 3.' 'egl:software-3  EGL display of test' &&
    GST_DRM_FAKE_EGL=1:0:hang GST_DRM_PROBE_TIMEOUT=10 lists '  The driver of egl:software gave no answer within 10 s (GST_DRM_PROBE_TIMEOUT).'
)

# PROGRAM TABLE: a compositor of the tests' own with that table, live and saved
lists_wayland() {
  "$1" "$2" "$tool" | sources_alone >"$work/live" && grep -q '^wayland:wayland-0:0  textures of the compositor' "$work/live" &&
    "$1" "$2" "$tool" --save "$work/wayland.json" && gives 0 --load "$work/wayland.json" && cmp "$work/live" "$work/out" &&
    "$1" "$2" "$tool" --why "$(table amd-vangogh)" wayland:wayland-0
}

# A camera node, and one that this user may not open; an output queue that is not /dev/video1.
cameras() {
  local closed=${1:-}
  echo '{"schema": "gst-drm-machine", "version": 1, "kernel": "", "gstreamer": "", "sources": ['
  [[ -n $closed ]] || echo '{"kind": "v4l2", "name": "v4l2:video2:capture", "device": "/dev/video2", "driver": "uvcvideo", "description": "capture queue", "problem": "",
    "formats": [{"format": "YUYV", "modifier": "0x0", "modifier-name": "", "external-only": false, "planes": 1}]},
    {"kind": "v4l2", "name": "v4l2:video5:output", "device": "/dev/video5", "driver": "vivid", "description": "output queue", "problem": "",
    "formats": [{"format": "NV12", "modifier": "0x0", "modifier-name": "", "external-only": false, "planes": 2}]},'
  echo '{"kind": "v4l2", "name": "v4l2:video0", "device": "/dev/video0", "driver": "", "description": "", "problem": "Cannot ask /dev/video0: EACCES; add this user to the group video.", "formats": []}]}'
}

# The defaults of v4l2src and v4l2sink name no device; one that is named has to be there; why a node says nothing is told.
saved_cameras() {
  cameras >"$work/cameras.json" && cameras closed >"$work/closed.json" &&
    gives 0 --load "$work/cameras.json" --why v4l2src v4l2:video2 && grep -q '^v4l2src0.src on v4l2:video2:capture offers 1 pair' "$work/out" &&
    gives 1 --load "$work/cameras.json" --why v4l2src v4l2sink && grep -q '^v4l2sink0.sink on v4l2:video5:output takes 1 pair' "$work/out" &&
    refuses 'no source for v4l2src on /dev/video7' --load "$work/cameras.json" --why 'v4l2src device=/dev/video7' v4l2:video2 &&
    refuses 'no source for v4l2src: Cannot ask /dev/video0: EACCES; add this user to the group video.' --load "$work/closed.json" --why v4l2src v4l2sink
}

# What --save and --matrix write is what the schema says, and the schema says all of it.
fits_the_schema() {
  gives 0 --matrix --format json "$(table amd-navi31)" "$(table asahi-g13g)" "$golden/machine.json" && cp "$work/out" "$work/matrix.json" &&
    gives 0 --load "$golden/machine.json" --save "$work/saved.json" && "$tool" --save "$work/live.json" &&
    "$here/schema.py" "$docs/gst-drm-inspect.schema.json" "$golden"/{machine,board,box,matrix}.json "$work"/{matrix,saved,live}.json
}

completes() {
  # shellcheck disable=SC1090
  (source "$completion" && COMP_WORDS=(gst-drm-inspect-1.0 --m) COMP_CWORD=1 && _gst_drm_inspect && [[ ${COMPREPLY[*]} == --matrix ]] &&
    COMP_WORDS=(gst-drm-inspect-1.0 --format s) COMP_CWORD=2 && _gst_drm_inspect && [[ ${COMPREPLY[*]} == svg ]])
}

# Each option of --help is completed, and the other way round.
completes_every_option() {
  gives 0 --help
  diff <(grep -oE '^  (-h, )?--[a-z]+' "$work/out" | grep -oE -- '--[a-z]+' | grep -v -- '--help-\|--gst' | sort -u) \
    <(grep -oE "W '--[^']*" "$completion" | grep -oE -- '--[a-z]+' | sort -u)
}

native() {
  if [[ ! -e /dev/dri ]] && ! compgen -G '/dev/video*' >/dev/null; then
    check 'a machine without devices says so' same_text no-device.txt 1
    check 'the matrix of a machine without devices' same_text no-device.txt 1 --matrix
    check 'what is saved of it can be loaded' eval 'gives 0 --save "$work/none.json" && same_text no-device.txt 1 --load "$work/none.json"'
  fi
  check 'two GPUs with LINEAR in common' same_text why-navi31-nv106.txt 0 --why "$(table amd-navi31)" "$(table nouveau-nv106)"
  check 'a GPU and a display without a common modifier' same_text why-tiled-only.txt 1 --load "$golden/machine.json" --why egl:renderD128 kms:card0:31
  check 'a display that names no modifiers' same_text why-implicit.txt 1 --load "$golden/machine.json" --why egl:renderD128 kms:card1
  check 'no format in common' same_text why-no-format.txt 1 --load "$golden/machine.json" --why v4l2:video0:capture kms:card1:40
  check 'one source of a file' same_text why-tiled-only.txt 1 --why "$golden/machine.json#egl:renderD128" "$golden/machine.json#kms:card0:31"
  check 'two elements that share system memory' same_text why-elements.txt 1 --why 'capsfilter caps=video/x-raw,format={NV12,I420}' 'capsfilter caps=video/x-raw,format=NV12'
  check 'a source of dmabufs and an element of system memory' same_text why-download.txt 1 --load "$golden/machine.json" --why kms:card0:31 'capsfilter caps=video/x-raw,format=NV12'
  check 'the matrix of three GPUs' same_text matrix.txt 0 --matrix "$(table freedreno-a660)" "$(table asahi-g13g)" "$(table nouveau-nv106)"
  check 'as SVG' svg_is_xml
  check 'the picture of three GPUs' docs_has_three_gpus
  check 'the picture of the box' docs_has_the_box
  check 'as JSON' json_has_every_pair
  check 'the form of the JSON' same_text matrix.json 0 --load "$golden/machine.json" --matrix --format json
  check 'JSON that fits the schema' fits_the_schema
  check 'as HTML' eval 'gives 0 --matrix --format html "$(table llvmpipe)" && grep -q "</svg>" "$work/out"'
  check 'a saved machine is what Python reads' python3 -m json.tool "$golden/machine.json"
  check 'a saved machine stays the same' round_trip
  check 'each truncation is refused' every_truncation
  check 'a machine of as many modifiers and formats as fit' hostile_sizes
  check 'a matrix of more sources than letters' many_columns
  check 'the same names in two files' two_machines
  check 'what is saved is all there, or not at all' saves_whole_files
  check 'a matrix of a machine and of files' refuses 'and not from both' --load "$golden/machine.json" --matrix "$(table llvmpipe)"
  check 'a pipeline that works' eval 'gives 0 --pipeline "videotestsrc num-buffers=1 ! video/x-raw,format=NV12,width=64 ! fakesink" && grep -q "chosen: .*NV12" "$work/out" && grep -q "^result: frames reach every sink" "$work/out"'
  check 'the links of a bin' eval 'gives 0 --pipeline "videotestsrc num-buffers=1 ! ( queue name=q ! identity name=i ) ! fakesink name=end" && grep -q "^link 1: videotestsrc0.src -> q.sink" "$work/out" && grep -q "^link 2: q.src -> i.sink" "$work/out" && grep -q "^link 3: i.src -> end.sink" "$work/out"'
  check 'what a link refuses' eval 'gives 0 --pipeline "videotestsrc num-buffers=1 ! video/x-raw,format=NV12 ! fakesink" && grep -q "^  refused: all video/x-bayer(memory:SystemMemory)$" "$work/out" && grep -q "^  refused: nothing" "$work/out"'
  check 'a pipeline that fails without a word' eval 'gives 1 --timeout 3600 --pipeline "fakesrc ! fakesink can-activate-push=false can-activate-pull=false" && grep -q "^result: failed: the pipeline does not start" "$work/out"'
  check 'a pipeline that does not link for what stands between' eval 'gives 1 --pipeline "videotestsrc ! video/x-raw,format=NV12 ! capsfilter caps=video/x-raw,format=I420 ! fakesink" && grep -q "^what is written between them offers .*NV12" "$work/out" && grep -q "^capsfilter0.sink takes .*I420" "$work/out"'
  check 'a pipeline that does not link at all' same_text pipeline-no-link.txt 1 --pipeline 'capsfilter name=a caps=video/x-raw,format=NV12 ! capsfilter name=b caps=video/x-raw,format=I420 ! fakesink'
  # What people write between two elements; gst-launch-1.0 says "could not link" of each.
  mistake() { # WORDS CAPS [PROPERTY]
    gives 1 --pipeline "videotestsrc ! dmabufupload allocator=memfd ${3:-} ! $2 ! fakesink" && grep -q "$1" "$work/out"
  }
  dmabuf='video/x-raw(memory:DMABuf)'
  check 'a linear modifier that is written' mistake 'the linear modifier is written by leaving it out' "$dmabuf,format=DMA_DRM,drm-format=NV12:0x0000000000000000"
  check 'a modifier in words' mistake 'NV12:linear' "$dmabuf,format=DMA_DRM,drm-format=NV12:linear"
  check 'a fourcc of five letters' mistake 'NV12M' "$dmabuf,format=DMA_DRM,drm-format=NV12M"
  check 'no DMA_DRM' mistake 'write format=DMA_DRM' "$dmabuf,format=NV12" implicit-modifier=refuse
  check 'no DMA_DRM, from an element of 1.22' mistake 'implicit-modifier=linear' "$dmabuf,format=NV12" implicit-modifier=driver
  check 'drm-format without DMA_DRM' mistake 'write format=DMA_DRM' "$dmabuf,drm-format=NV12:0x0100000000000002"
  check 'DMA_DRM without memory:DMABuf' mistake 'write video/x-raw(memory:DMABuf)' 'video/x-raw,format=DMA_DRM,drm-format=NV12'
  check 'an unknown format' mistake 'no video format NV13' 'video/x-raw,format=NV13'
  check 'a tiled modifier for a CPU' mistake 'INTEL_Y_TILED' "$dmabuf,format=DMA_DRM,drm-format=NV12:0x0100000000000002"
  check 'a mistake in the caps of a capsfilter' eval 'gives 1 --pipeline "videotestsrc ! dmabufupload allocator=memfd ! capsfilter name=f caps=\"$dmabuf,format=DMA_DRM,drm-format=NV12:linear\" ! fakesink" && grep -q "f (capsfilter) allows .*NV12:linear.* is no drm-format" "$work/out"'
  check 'a pipeline of two kinds of streams' same_text pipeline-media.txt 1 --pipeline 'capsfilter name=a caps=video/x-raw,format=NV12 ! capsfilter name=b caps=audio/x-raw ! fakesink'
  check 'the link that fails, of elements that give no reason' eval 'gives 1 --pipeline "videotestsrc name=v ! video/x-raw,format=NV12 ! queue name=q ! identity name=i ! capsfilter name=f caps=video/x-raw,format=I420 ! fakesink" && grep -q "^i.src offers .*NV12\|^capsfilter0.src offers\|^q.src offers" "$work/out"'
  check 'a failure that is not about caps' eval 'gives 1 --pipeline "filesrc location=/nonexistent ! fakesink" && grep -q "^result: failed: filesrc0: " "$work/out" && ! grep -q "in common" "$work/out"'
  check 'a pipeline without a frame' eval 'gives 1 --timeout 1 --pipeline "videotestsrc ! valve drop=true ! fakesink" && grep -q "^result: failed: no frame reached every sink within 1000 ms" "$work/out"'
  check 'a pipeline of an unknown element' eval 'gives 1 --pipeline "nosuchelement ! fakesink" && grep -q "nosuchelement" "$work/out"'
  check 'a side that is nothing' refuses 'is no source of this machine' --why nosuchthing nosuchthing
  check 'a source that has a problem' refuses 'add this user to the group video' --load "$golden/machine.json" --why kms:card9 kms:card1:40
  check 'planes that are alike in one block' eval 'python3 -c "import json, sys; m = json.load(open(sys.argv[1])); [m[\"sources\"].insert(2, m[\"sources\"][1] | {\"name\": f\"kms:card0:{n}\"}) for n in (40, 39)]; json.dump(m, open(sys.argv[2], \"w\"))" "$golden/board.json" "$work/planes.json" && gives 0 --load "$work/planes.json" && grep -q "^kms:card0:38, kms:card0:39, kms:card0:40  overlay plane" "$work/out"'
  check 'a name that several have' refuses 'has several sources; name one of them: kms:card0:' --load "$golden/machine.json" --why kms:card0 kms:card1:40
  if gst-inspect-1.0 kmsdmabufsink >"$work/log" 2>&1 && gst-inspect-1.0 vadmabufsrc >"$work/log" 2>&1 && gst-inspect-1.0 dmabufupload >"$work/log" 2>&1; then
    check 'the links that decodebin makes' eval 'gives 0 --pipeline "videotestsrc num-buffers=1 ! video/x-raw,format=BGRx,width=64,height=48 ! decodebin ! dmabufupload name=up allocator=memfd ! fakesink" && grep -q "^link [0-9]*: [a-z0-9_]*\.src -> up.sink" "$work/out" && grep -q "^copies: up: 0 in 1 frame" "$work/out"'
    check 'links that a saved machine does not tell of' same_text pipeline-saved-unknown.txt 0 --load "$golden/board.json" --pipeline 'filesrc ! decodebin name=decode ! queue ! dmabufupload name=up ! ( queue name=q ! kmsdmabufsink name=show )'
    check 'an element on a saved machine' same_text why-saved-elements.txt 0 --load "$golden/board.json" --why vadmabufsrc kmsdmabufsink
    check 'an element that a saved machine has no device for' refuses 'the machine has no source for vadmabufsrc' --load "$golden/machine.json" --why vadmabufsrc kmsdmabufsink
    check 'the driver that a pipeline names' eval 'refuses "no source for kmsdmabufsink of the driver amdgpu" --load "$golden/board.json" --why dmabufupload "kmsdmabufsink driver-name=amdgpu" && gives 0 --load "$golden/machine.json" --why dmabufupload "kmsdmabufsink driver-name=simpledrm" && grep -q "on kms:card1:40 takes" "$work/out"'
    check 'a choice that a saved machine knows nothing of' eval '"$tool" --load "$golden/board.json" --pipeline "dmabufupload ! kmsdmabufsink name=show bus-id=pci:0" >"$work/out"; grep -q "^note: show: a saved machine does not say what bus-id would choose" "$work/out"'
    check 'a pipeline on a saved machine' same_text pipeline-saved.txt 0 --load "$golden/board.json" --pipeline 'vadmabufsrc ! video/x-raw(memory:DMABuf),format=DMA_DRM ! queue ! tee name=t t. ! kmsdmabufsink t. ! fakesink'
    check 'a pipeline that stops on a saved machine' same_text pipeline-saved-stops.txt 1 --load "$golden/machine.json" --pipeline 'videotestsrc ! video/x-raw,format=BGRx ! dmabufupload ! queue ! kmsdmabufsink'
    check 'a filter that nothing gets through there' eval 'gives 1 --load "$golden/board.json" --pipeline "vadmabufsrc ! video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format=P010:0x0100000000000002 ! queue ! kmsdmabufsink" && grep -q "^result: failed: queue0.src and kmsdmabufsink0.sink have nothing in common" "$work/out"'
    check 'copies on a saved machine' eval 'gives 0 --load "$golden/board.json" --pipeline "videotestsrc ! video/x-raw,format=BGRx ! dmabufupload name=up ! fakesink" && grep -q "^copies: up: each frame that upstream does not write into the pool" "$work/out"'
    check 'the device that a pipeline names' eval 'gives 1 --load "$golden/machine.json" --pipeline "dmabufupload ! kmsdmabufsink device=/dev/dri/card7" && grep -q "no source for kmsdmabufsink on /dev/dri/card7" "$work/out"'
    check 'a device that a saved machine has not' eval 'gives 1 --load "$golden/machine.json" --pipeline "vadmabufsrc ! fakesink" && grep -q "the machine has no source for vadmabufsrc" "$work/out"'
  fi
  check 'a pipeline without devices on a saved machine' eval 'gives 0 --load "$golden/machine.json" --pipeline "videotestsrc ! fakesink" && grep -q "nothing was started" "$work/out"'
  check 'a pipeline that does not link on a saved machine' eval 'gives 1 --load "$golden/machine.json" --pipeline "capsfilter name=a caps=video/x-raw,format=NV12 ! capsfilter name=b caps=video/x-raw,format=I420 ! fakesink" && is_golden pipeline-no-link.txt'
  check 'an element of system memory on a saved machine' eval 'gives 1 --load "$golden/machine.json" --why "capsfilter caps=video/x-raw,format=NV12" kms:card0:31 && grep -q "^capsfilter0 (element, not started) offers no dmabuf" "$work/out"'
  ! gst-inspect-1.0 v4l2src >"$work/log" 2>&1 || check 'the cameras of a saved machine' saved_cameras
  check 'no pipeline on a saved machine' eval 'gives 1 --load "$golden/machine.json" --pipeline "nosuchelement ! fakesink" && grep -q "nosuchelement" "$work/out"'
  check 'a pipeline on a file that is no machine' refuses 'No such file' --load "$work/none/none.json" --pipeline 'fakesrc ! fakesink'
  check 'two commands' refuses 'give one of' --matrix --save "$work/x"
  check 'an unknown form' refuses 'text, svg, html or json' --matrix --format png
  check 'one side only' refuses '--why needs' --why a
  check 'an unknown option' refuses 'see --help' --nosuch
  check 'a file that is not there' refuses 'No such file' --load "$work/none/none.json"
  check 'a directory' refuses 'cannot read' --load "$work"
  check 'a file that cannot be written' refuses 'cannot write' --save "$work/none/none.json"
  check 'an endless file' refuses 'more than 16 MiB' --load /dev/zero
  check 'an empty file' bad_machine 'is empty' ''
  check 'binary' bad_machine 'is no `FOURCC 0xMODIFIER' '\x7fELF\x01\x00\xff'
  check 'no JSON' bad_machine 'is no JSON' '{"schema" "gst-drm-machine"}'
  check 'text beyond ASCII' reads_machine "$(machine 1 "$(source_with kms 'für die Anzeige' "$(pair NV12 0x0 1)")")" 'für die Anzeige'
  check 'no UTF-8' bad_machine 'is no JSON' '{"schema": "\xff\xfe"}'
  check 'deep' bad_machine 'is no JSON' "{\"a\": $(printf '[%.0s' {1..2000})"
  check 'text behind the end' bad_machine 'is no JSON' "$(machine 1 '') x"
  check 'another schema' bad_machine 'is no saved machine' '{"schema": "other", "version": 1}'
  check 'JSON of drm_info' bad_machine 'is no saved machine, as --save makes it: it is JSON of another program' '{"/dev/dri/card0": {"driver": {"name": "i915", "version": {"major": 1}}, "planes": [{"properties": {"IN_FORMATS": {"data": [{"modifier": 0, "formats": [[[[1]]]]}]}}}]}}'
  check 'a list' bad_machine 'is no saved machine, as --save makes it: it is JSON of another program' '[]'
  check 'a README' bad_machine 'bad.json is no saved machine, as --save makes it, and no table of formats: bad has no line' '# What real machines say'
  check 'JSON of other programs about real machines' others_machines
  check 'another version' bad_machine 'is of version 2; this program reads version 1' "$(machine 2 '')"
  check 'a version that is no number' bad_machine 'has no int "version"' "$(machine '"1"' '')"
  check 'sources of another type' bad_machine 'is no object' "$(machine 1 '7')"
  check 'an unknown kind' bad_machine 'which is not known' "$(machine 1 "$(source_with tv a '')")"
  check 'no name' bad_machine 'empty "name"' "$(machine 1 "$(source_with kms '' '')")"
  check 'a name with an escape' bad_machine 'no plain text' "$(machine 1 "$(source_with kms '\\u001b[2J' '')")"
  check 'a name with a NUL' bad_machine 'no plain text' "$(machine 1 "$(source_with kms 'a\\u0000b' '')")"
  check 'the same name twice' bad_machine 'which another one has' "$(machine 1 "$(source_with kms a ''), $(source_with kms a '')")"
  check 'no fourcc' bad_machine 'which is no fourcc' "$(machine 1 "$(source_with kms a "$(pair NV 0x0 1)")")"
  check 'no modifier' bad_machine 'which is no 0x' "$(machine 1 "$(source_with kms a "$(pair NV12 0xg 1)")")"
  check 'a modifier of 17 digits' bad_machine 'which is no 0x' "$(machine 1 "$(source_with kms a "$(pair NV12 0x00000000000000001 1)")")"
  check 'negative planes' bad_machine '0 to 4 are possible' "$(machine 1 "$(source_with kms a "$(pair NV12 0x0 -1)")")"
  check 'planes beyond 64 bits' bad_machine 'bad.json is no ' "$(machine 1 "$(source_with kms a "$(pair NV12 0x0 99999999999999999999)")")"
  check 'a table with a bad line' bad_machine 'line 2' 'NV12 0x0 0\nNV12 0x0 2\n'
  if [[ -n ${GST_DRM_TEST_VULKAN_MANIFEST:-} ]]; then
    check 'the devices of Vulkan' lists_vulkan "$GST_DRM_TEST_VULKAN_MANIFEST" "$(table freedreno-a660)"
    check 'drivers of Vulkan that crash and that exit' bad_vulkan_drivers "$GST_DRM_TEST_VULKAN_MANIFEST" "$(table llvmpipe)"
    check 'drivers of Vulkan that hang and that print' silent_and_loud_drivers "$GST_DRM_TEST_VULKAN_MANIFEST" "$(table llvmpipe)"
    check 'drivers that are asked in the same process' asked_here "$GST_DRM_TEST_VULKAN_MANIFEST" "$(table llvmpipe)"
  fi
  [[ -z ${GST_DRM_TEST_FAKE_EGL:-} ]] || check 'drivers of EGL that crash, exit and hang' bad_egl_drivers "$GST_DRM_TEST_FAKE_EGL"
  [[ -z ${GST_DRM_TEST_COMPOSITOR:-} ]] || check 'a Wayland compositor' lists_wayland "$GST_DRM_TEST_COMPOSITOR" "$(table amd-navi31)"
  check 'the completion' completes
  check 'the completion has every option' completes_every_option
}

# Every plane of vkms with its formats; saved and loaded, the list of sources is the same.
lists_the_box() {
  gives 0 && grep -q '^kms:card1:[0-9]*  primary plane of vkms' "$work/out" && grep -q '^v4l2:video[0-9]*:capture .* of vivid' "$work/out" &&
    sources_alone "$work/out" >"$work/live" && gives 0 --save "$work/box.json" && gives 0 --load "$work/box.json" && cmp "$work/live" "$work/out"
}

# By card: what it is connected to, its memory, its planes; then memory of no card, and what --machine says; a heap that is not
# there is not listed.
lists_connectors_and_memory() {
  gives 0 && diff - <(sed -n '/^\/dev\/dri\/card1$/,/ plane of /p' "$work/out" | awk '{ print $1 }') <<<$'/dev/dri/card1\nVirtual-1\nallocator=dumb\n'"$(primary)" &&
    grep -qE '^  Virtual-1 +connected, (off|shows [0-9]+x[0-9]+@[0-9.]+), [0-9]+ modes, prefers 1024x768@60\.00$' "$work/out" &&
    grep -qE '^  udmabuf +/dev/udmabuf$' "$work/out" && grep -qE '^  dma-heap system +system$' "$work/out" && grep -qE '^  allocator=dumb +/dev/dri/card1$' "$work/out" &&
    [[ $(grep -c '^/dev/dri/card1$' "$work/out") == 1 ]] && grep -q '^yellow  contiguous memory: no heap of it$' "$work/out" && ! grep -q '^green' "$work/out" &&
    ! grep -q 'Writeback' "$work/out"
}

primary() { "$tool" | sed -n 's/^\(kms:card1:[0-9]*\)  primary.*/\1/p' | head -1; }

# The back end of libgbm crashes on each render node: each is listed, and so is the rest.
bad_gbm_drivers() {
  GBM_BACKEND=crash GBM_BACKENDS_PATH=$backends lists && grep -q '^  The driver of gbm:renderD[0-9]* (/dev/dri/renderD[0-9]*) crashed (SIGSEGV).$' "$work/out" &&
    grep -q '^kms:card1:[0-9]*  primary plane of vkms' "$work/out"
}

# A machine without udmabuf, dma-heaps and cards, as far as this pipeline sees: dmabufupload warns, and plays.
warns_in_a_pipeline() {
  local real=$tool tool=$work/poor
  cat >"$tool" <<END
#!/bin/sh
exec unshare --mount sh -c 'mount --bind /dev/null /dev/udmabuf && mount -t tmpfs none /dev/dma_heap && mount -t tmpfs none /dev/dri && exec "\$0" "\$@"' '$real' "\$@"
END
  chmod +x "$tool"
  gives 0 --pipeline 'videotestsrc num-buffers=1 ! video/x-raw,format=NV12,width=256,height=64 ! dmabufupload name=up ! fakesink' &&
    grep -q '^warning: up: up found nothing .* exports dma-bufs' "$work/out" && grep -q '^result: frames reach every sink' "$work/out"
}

in_box() {
  check 'a driver of GBM that crashes' bad_gbm_drivers
  check 'the devices of the box, live and saved' lists_the_box
  check 'connectors, and memory for frames' lists_connectors_and_memory
  check 'the box is what was saved of it' is_the_box
  check 'the box as JSON that fits the schema' eval 'gives 0 --save "$work/box.json" && gives 0 --matrix --format json && cp "$work/out" "$work/matrix.json" && "$here/schema.py" "$docs/gst-drm-inspect.schema.json" "$work/box.json" "$work/matrix.json"'
  check 'a camera and a display' eval 'gives 0 --why "$("$tool" | sed -n "s/^\(v4l2:video[0-9]*:capture\) .*vivid.*/\1/p" | head -1)" "$(primary)" && grep -q "these are two devices" "$work/out"'
  if gst-inspect-1.0 kmsdmabufsink >"$work/log" 2>&1 && gst-inspect-1.0 dmabufupload >"$work/log" 2>&1; then
    check 'the warning of an element' warns_in_a_pipeline
    check 'an element and a plane' eval 'gives 0 --why dmabufupload "$(primary)"'
    check 'the reason of an element' eval 'gives 1 --pipeline "videotestsrc ! video/x-raw,format=YUY2 ! kmsdmabufsink name=show driver-name=vkms" && grep -q "^result: failed: show: show finds nothing in common.*YUY2.*videoconvert" "$work/out" && ! grep -q "In common: \|caps in common" "$work/out"'
    check 'dmabufupload to the display' eval 'gives 0 --pipeline "videotestsrc num-buffers=2 ! video/x-raw,format=BGRx,width=640,height=480 ! dmabufupload name=up ! kmsdmabufsink name=show driver-name=vkms" && grep -q "chosen: .*DMABuf.*XR24" "$work/out" && grep -q "^copies: up: 0 in [12] frame" "$work/out" && grep -q "^copies: show: 0 in" "$work/out"'
  fi
}

if [[ -n ${GST_DRM_IN_BOX:-} ]]; then in_box; else native; fi
echo "1..$count"
exit $failed
