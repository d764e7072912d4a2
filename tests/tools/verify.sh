#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# gst-drm-verify-1.0 and the tracer drmverify: natively with a saved trace, bad ones and programs without dma-bufs; in the box
# pipelines whose truth is known. TAP.
# Usage: verify.sh TOOL TESTS-DATA APPLICATION
# UPDATE=1 writes the golden text anew.
set -uo pipefail
tool=$1 data=$2 application=$3
here=$(dirname "$(readlink -f "$0")")
docs=$here/../../docs
source "$here/../support/tap.sh"

# The plugins are scanned before the first case, which has a time limit.
gst-inspect-1.0 drmtracers >/dev/null 2>&1

# says TEXT...: each is in what the last command printed
says() {
  local text
  for text; do grep -qF -- "$text" "$work/out" "$work/err" || { echo "missing: $text"; return 1; }; done
}

# TEXT ARGUMENT...: status 2, nothing on stdout, and one line with the text on stderr
refuses() {
  local text=$1
  shift
  gives 2 "$@" && [[ ! -s $work/out && $(wc -l <"$work/err") == 1 ]] && says "$text"
}

fits_schema() { "$here/schema.py" "$docs/gst-drm-verify.schema.json" "$@"; }

# --- natively --------------------------------------------------------------------------------------------------------------

# What the tool says of a trace that was saved in the box, whose 101st frame was read by the CPU.
saved_trace() {
  gives 1 --trace "$data/late.json" && { [[ -z ${UPDATE:-} ]] || cp "$work/out" "$data/late.txt"; } && diff -u "$data/late.txt" "$work/out"
}

# EXPRESSION TEXT: the saved trace is refused after a change by Python to `t`
bad_trace() {
  python3 -c 'import json, sys; t = json.load(open(sys.argv[1])); exec(sys.argv[2]); json.dump(t, open(sys.argv[3], "w"))' "$data/late.json" "$1" "$work/bad.json" &&
    refuses "$2" --trace "$work/bad.json"
}

# Memory of no device to which one device is attached, and which nobody is seen to write: its user, or its writer.
unseen_writer() {
  python3 - "$data/late.json" "$work/unseen.json" <<'END' && gives 2 --skip I4 --trace "$work/unseen.json" && says 'I1  unknown'
import json, sys
trace = json.load(open(sys.argv[1]))
for dmabuf in trace['dmabufs']:
    dmabuf |= {'exporter': 'udmabuf', 'cpu-written': 0, 'attached': ['vkms']}
json.dump(trace, open(sys.argv[2], 'w'))
END
}

# No pool is used: that is told.
new_dmabufs() {
  sed 's/"dmabufs":5,/"dmabufs":110,/' "$data/late.json" >"$work/new.json" && gives 1 --trace "$work/new.json" && says 'note: 110 dma-bufs in 110 frames from videotestsrc0: no pool is used'
}

every_truncation() {
  local at
  for ((at = 0; at < $(wc -c <"$data/late.json") - 2; at += 197)); do
    head -c "$at" "$data/late.json" >"$work/cut.json"
    refuses "$work/cut.json" --trace "$work/cut.json" || return 1
  done
}

# Names of elements are the application's: a terminal must not execute them, nor a browser.
hostile_names() {
  sed 's/"here"/"\\u001b[2J<script>"/g' "$data/late.json" >"$work/names.json"
  gives 1 --trace "$work/names.json" --html "$work/names.html" --json "$work/result.json" && says '?[2J<script>' &&
    ! grep -q '<script>' "$work/names.html" && fits_schema "$work/result.json" &&
    gives 1 --html "$work/names.html" videotestsrc num-buffers=3 'name=x"];<script>' ! fakesink && grep -q '<svg' "$work/names.html" &&
    ! grep -q '<script>' "$work/names.html" && ! says 'syntax error'
}

# A difference from a saved result is a violation, whatever it says of itself.
compares() {
  gives 1 --trace "$data/late.json" --json "$work/saved.json" && fits_schema "$work/saved.json" &&
    gives 0 --skip I4 --trace "$data/late.json" --expect "$work/saved.json" &&
    sed -i 's/"kind": "passed"/"kind": "device"/' "$work/saved.json" &&
    gives 1 --skip I4 --trace "$data/late.json" --expect "$work/saved.json" && says 'was dma-buf, device, and is dma-buf, passed' &&
    refuses 'is no saved result' --trace "$data/late.json" --expect "$data/late.json"
}

# FOLDER FILE=CONTENT...: files of a machine
machine() {
  local folder=$1 file
  shift
  for file; do mkdir -p "$folder/$(dirname "${file%%=*}")" && printf '%b\n' "${file#*=}" >"$folder/${file%%=*}"; done
}

# A board with an NPU, whose link is slow and whose CMA region is used up; a display without a mode.
board() {
  local pci=sys/bus/pci/devices/0004:01:00.0 drm=sys/class/drm
  machine "$work/board" proc/sys/kernel/osrelease=5.15.148-tegra 'proc/meminfo=MemFree: 9 kB\nCmaTotal: 262144 kB\nCmaFree: 8192 kB' \
    dev/dma_heap/linux,cma= dev/dma_heap/system= dev/udmabuf= sys/module/udmabuf/parameters/size_limit_mb=64 sys/kernel/iommu_groups/0/type=DMA \
    sys/kernel/debug/dma_buf/bufinfo= dev/dri/card0= dev/dri/renderD128= $pci/class=0x120000 $pci/vendor=0x1f9d \
    "$pci/current_link_speed=5.0 GT/s PCIe" $pci/current_link_width=2 "$pci/max_link_speed=8.0 GT/s PCIe" $pci/max_link_width=4 \
    $drm/card0-HDMI-A-1/status=connected $drm/card0-HDMI-A-1/edid=e $drm/card0-DP-1/status=connected \
    "$drm/card0-HDMI-A-1/modes=1920x1080\\n1280x720" $drm/card0-DP-1/modes= $drm/card0-DP-2/status=disconnected \
    'boot/config-5.15.148-tegra=CONFIG_CMA=y\n# CONFIG_UDMABUF is not set' \
    'sys/kernel/debug/dri/0/clients=command tgid dev master a uid magic\nweston 812 0 y y 0 0'
  gives 1 --machine --root "$work/board" &&
    says 'yellow  kernel: Linux 5.15.148-tegra' 'CONFIG_UDMABUF (memory of no device)' 'green   dma-heap linux,cma: contiguous memory' \
      'green   udmabuf: works, for at most 64 MB' 'yellow  CMA: 8 of 256 MB free' 'green   IOMMU: 1 group' 'green   who shares what' 'green   card0: there' \
      'red     card0-DP-1: connected, 0 modes' 'green   card0-HDMI-A-1: connected, 2 modes, EDID' 'yellow  card0: weston (812) is master' \
      'yellow  PCIe 0004:01:00.0: 5.0 GT/s PCIe x2 of 8.0 GT/s PCIe x4' 'What to do: enlarge the region' && ! grep -q 'CONFIG_CMA \|DP-2\|GStreamer' "$work/out"
}

bare_machine() {
  mkdir "$work/bare" && machine "$work/bare" proc/sys/kernel/osrelease=4.19.0 && gives 1 --machine --root "$work/bare" &&
    says 'red     kernel: Linux 4.19.0' 'red     DRM devices: none' 'yellow  udmabuf: none' 'yellow  dma-heaps: none'
}

no_dmabuf() {
  gives 1 videotestsrc num-buffers=3 ! fakesink && says 'I1 the pipeline: no dma-buf went through any pad' 'What to do:' '3 made'
}

native() {
  check 'a trace whose 101st frame is read' saved_trace
  check 'the same result, and another one' compares
  check 'the page has both drawings' draws
  check 'names that a terminal or a browser would execute' hostile_names
  check 'a writer that is not seen' unseen_writer
  check 'each truncation is refused' every_truncation
  check 'JSON of another program' refuses 'JSON of another program' --trace "$docs/gst-drm-inspect.schema.json"
  check 'no JSON' refuses 'is no JSON' --trace "$data/late.txt"
  check 'each frame in a new dma-buf' new_dmabufs
  check 'a later version' bad_trace 't["version"] = 2' 'is of version 2'
  check 'a negative number' bad_trace 't["links"][0]["frames"] = -1' 'negative "frames"'
  check 'a text as a number' bad_trace 't["links"][0]["frames"] = "9"' 'member 0 of "links" has no int "frames"'
  check 'a list that is none' bad_trace 't["mappings"] = {}' 'has no array "mappings"'
  check 'a member that is no object' bad_trace 't["elements"][0] = 1' 'is no object'
  check 'statistics that are none' bad_trace 't["elements"][0]["stats"] = {"frames": []}' 'no numbers'
  check 'names that are none' bad_trace 't["links"][0]["exporters"] = [1]' 'that is no text'
  check 'a board with an NPU' board
  check 'a machine that has nothing' bare_machine
  check 'this machine' eval '"$tool" --machine >"$work/out"; grep -q "^green   GStreamer .*DMA_DRM caps: .*dmabufupload" "$work/out"'
  check 'a root of nothing' refuses '--root belongs to --machine' --root / fakesrc ! fakesink
  check 'no file' refuses 'cannot read' --trace /nonexistent
  check 'nothing to do' refuses 'give one of'
  check 'two things to do' refuses 'give one of' --trace "$data/late.json" fakesrc ! fakesink
  check 'an invariant that is none' refuses 'not `I5`' --skip I5 --trace "$data/late.json"
  check 'no program' refuses 'nonexistent' -- /nonexistent
  check 'a program without GStreamer' refuses 'no frame went through a pad' -- true
  check 'a pipeline that does not parse' eval 'gives 2 nonexistentsrc ! fakesink && says "ended with status 1"'
  check 'a pipeline that never prerolls' refuses 'no frame reached a pad within 1 second' --timeout 1 appsrc ! fakesink
  check 'a pipeline that hangs after its first frame' eval 'gives 1 --timeout 1 videotestsrc ! identity sleep-time=30000000 ! fakesink && says "no frame for 1 second" "1 made" "I1 the pipeline"'
  check 'a live pipeline for a second' eval 'gives 1 --seconds 1 videotestsrc is-live=true ! fakesink && grep -qE " ([2-9]|[0-9]{2,}) +0 +([2-9]|[0-9]{2,}) made$" "$work/out"'
  check 'a pipeline without dma-bufs' no_dmabuf
  check 'a workload that somebody else runs' records 'videotestsrc ! fakesink sync=true' 1 'no dma-buf went through any pad'
  check 'a trace that is none to be stopped' refuses 'cannot read' --stop /nonexistent
}

# --- in the box ------------------------------------------------------------------------------------------------------------

SHOWN='videotestsrc num-buffers=110 ! dmabufupload ! identity name=here ! kmsdmabufsink'

LATE='v4l2src io-mode=dmabuf num-buffers=80 ! identity name=here ! tee name=t t. ! queue ! fakesink enable-last-sample=false t. ! valve name=valve drop=true ! queue ! kmssink driver-name=vkms async=false sync=false'
BRANCHES='videotestsrc num-buffers=100 ! dmabufupload ! identity name=here ! tee name=tee tee.src_0 ! queue ! kmsdmabufsink enable-last-sample=false tee.src_1 ! queue name=old-queue ! fakesink name=old-sink async=false enable-last-sample=false'

# An element that has stopped keeps no import.
nothing_is_kept() {
  python3 -c 'import json, sys
stats = [e["stats"] for e in json.load(open(sys.argv[1]))["elements"] if e["stats"]]
sys.exit(not stats or any(s["releases"] != s["imports"] for s in stats))' "$work/trace.json"
}

# Beside other tracers, and a second one of its own: the trace is recorded, judged, and equal to itself.
passes() {
  GST_DRM_VERIFY_FILE=$work/trace.json GST_TRACERS='stats;drmverify;drmverify' gst-launch-1.0 -q videotestsrc num-buffers=20 \
    ! dmabufupload ! tee name=t t. ! queue ! kmsdmabufsink t. ! bin.\( queue ! fakesink \) || return 1
  gives 0 --trace "$work/trace.json" --json "$work/pass.json" --html "$work/pass.html" && says 'result: pass' '20 passed on' &&
    grep -q '"I1_attach_count_ge2": true' "$work/pass.json" && grep -q '"pass": true' "$work/pass.json" &&
    nothing_is_kept && grep -q '<table>' "$work/pass.html" && fits_schema "$work/pass.json" && gives 0 --trace "$work/trace.json" --expect "$work/pass.json"
}

# Both are on the page: what happened on each link, and GStreamer's with the elements' properties.
draws() {
  gives 1 --html "$work/drawn.html" videotestsrc num-buffers=20 pattern=ball ! fakesink && grep -q '<svg' "$work/drawn.html" &&
    sed -n 's/.*data:image\/svg+xml;base64,\([^"]*\)".*/\1/p' "$work/drawn.html" | base64 -d >"$work/drawn.svg" &&
    grep -q 'pattern=ball' "$work/drawn.svg"
}

# The same pipeline, in which somebody has put an element that does not ask for dma-bufs; a copy by an upload.
regression() {
  gives 1 --frames 20 --expect "$work/pass.json" videotestsrc ! identity drop-allocation=true ! dmabufupload ! tee name=t t. ! queue ! kmsdmabufsink &&
    says 'I4 dmabufupload0, frame 1: copied pixels' 'is new' 'is gone' 'result: violated'
}

# FRAME WHAT TEXT...
one_frame() {
  local frame=$1 what=$2
  shift 2
  gives 1 -- "$application" "$what" "$frame" "$SHOWN" && says "$@" 'I1  pass' && [[ $(grep -c '^I[1-4] ' "$work/out") == 1 ]]
}

# known STATUS VIOLATIONS TEXT... -- ARGUMENT...: of a pipeline whose truth is known; each violation as `I4 ELEMENT`
known() {
  local status=$1 violations=$2 texts=()
  shift 2
  while [[ $1 != -- ]]; do texts+=("$1") && shift; done
  shift
  gives "$status" "$@" && says "${texts[@]}" &&
    diff <(echo "$violations") <(sed -n 's/^\(I[1-4] [^,:]*\)[,:].*/\1/p' "$work/out" | paste -sd,)
}

# Whether this GStreamer has all of these elements.
has() { gst-inspect-1.0 --exists "$1" && { [[ $# == 1 ]] || has "${@:2}"; }; }

# ACTION: the fence of one frame signals 100 ms after it; between elements it is pending for so long, and that is told.
slow_fence() {
  gives 0 -- "$application" "$1" 50 "$SHOWN" && says 'note: fences of frames from here are pending for 1' &&
    grep -qE '^ +fences pending from here +1 +1[0-9][0-9]\.' "$work/out"
}

# Somebody else's program is told where to write, is traced, judged while it goes on, and then left alone.
records() {
  local sink=$1 status=$2 text=$3 program trace i
  gives 0 --record "$work/traces" && refuses 'is not empty' --record "$work" && refuses 'has no trace' --stop "$work/traces" || return 1
  (eval "$("$tool" --record "$work/traces")" && exec gst-launch-1.0 -q $sink) &
  program=$!
  for ((i = 0; i < 100; i++)); do compgen -G "$work/traces/*.json" >/dev/null && break || sleep 0.1; done
  trace=$(echo "$work"/traces/*.json)
  gives "$status" --stop "$work/traces" && says "$text" && kill -0 "$program" && grep -q '"finished":1' "$trace" && [[ ! -e $trace.stop ]] || { kill "$program"; return 1; }
  cp "$trace" "$work/stopped.json" && sleep 0.6 && kill -INT "$program" && wait "$program"
  cmp "$trace" "$work/stopped.json" && gives "$status" --trace "$trace" && gives "$status" --stop "$trace"
}

in_box() {
  check 'dma-bufs through a tee, queues and a bin to a display' passes
  check 'an upload that copies is a regression' regression
  check 'a copy by videoconvert' known 1 'I4 videoconvert0,I4 dmabufdownload0' 'frame 1: copied pixels: 20 of 20 frames' 'or convert on a GPU' -- --skip I1,I3 videotestsrc num-buffers=20 ! video/x-raw,format=NV12 ! dmabufupload ! dmabufdownload ! videoconvert ! video/x-raw,format=BGRx ! fakesink
  check 'the machine' eval 'gives 0 --machine && says "green   dma-heap system" "green   udmabuf" "green   who shares what" "green   renderD128"'
  check '100 clean frames, and the 101st is read' one_frame 101 read 'I4 here, frame 101: mapped dma-bufs of' 'to read pixels by the CPU: 1 time'
  check 'the CPU writes in place' one_frame 7 write 'I4 here, frame 7: wrote into frames by the CPU: 1 of 110 frames'
  check '100 clean frames, and the 101st is copied' one_frame 101 copy 'I4 here, frame 101: copied pixels: 1 of 110 frames'
  check 'a display of upstream takes a camera' known 0 '' 'result: pass' -- --frames 20 v4l2src io-mode=dmabuf ! kmssink driver-name=vkms
  check 'a display takes a camera' known 0 '' 'result: pass' -- --frames 20 v4l2src io-mode=dmabuf ! kmsdmabufsink
  check 'a camera whose frames are mapped' known 1 'I1 the pipeline' 'no dma-buf went through any pad' -- --frames 20 v4l2src io-mode=mmap ! fakesink
  check 'an upload of mapped frames of a camera' known 1 'I4 dmabufupload0' -- --frames 20 v4l2src io-mode=mmap ! dmabufupload ! kmsdmabufsink
  check 'a display of upstream with memory of its own' known 2 '' 'dma-buf drm' 'I3  unknown' -- --frames 20 videotestsrc ! kmssink driver-name=vkms
  check 'nobody imports' known 1 'I1 the pipeline,I3 the pipeline' -- videotestsrc num-buffers=20 ! dmabufupload allocator=udmabuf ! fakesink
  check 'a filter of upstream that writes in place' known 1 'I4 videobalance0' 'wrote into frames' -- --skip I1,I3 videotestsrc num-buffers=20 ! dmabufupload ! video/x-raw,format=NV12 ! videobalance saturation=0 ! fakesink
  check 'a filter of upstream that turns' known 1 'I4 videoflip0' 'copied pixels' -- --skip I1,I3 videotestsrc num-buffers=20 ! dmabufupload ! video/x-raw,format=NV12 ! videoflip video-direction=90r ! fakesink
  check 'a filter of upstream that passes on' known 0 '' -- --skip I1,I3 videotestsrc num-buffers=20 ! dmabufupload ! video/x-raw,format=NV12 ! videorate ! video/x-raw,framerate=60/1 ! fakesink
  check 'a muxer' known 1 'I4 avimux0' 'mapped' -- --skip I1,I3 videotestsrc num-buffers=20 ! dmabufupload ! video/x-raw,format=BGR ! avimux ! fakesink
  check 'a file of frames' known 1 'I4 filesink0' 'mapped' -- --skip I1,I3 videotestsrc num-buffers=20 ! dmabufupload ! video/x-raw,format=YUY2 ! matroskamux ! filesink location="$work/frames.mkv"
  check 'an encoder' known 1 'I4 jpegenc0' 'mapped' -- --skip I1,I3 videotestsrc num-buffers=20 ! dmabufupload ! video/x-raw,format=I420 ! jpegenc ! fakesink
  check 'a mixer' known 1 'I4 compositor0' 'copied pixels' -- --skip I1,I3 videotestsrc num-buffers=20 ! dmabufupload ! video/x-raw,format=NV12 ! compositor ! fakesink
  check 'a second import that comes late' known 0 '' 'result: pass' -- -- "$application" open 40 "$LATE"
  check 'a second import that does not come' known 1 'I1 the pipeline' -- -- "$application" open 400 "$LATE"
  check 'a branch that goes while frames flow' known 0 '' 'new-sink' 'old-sink' -- -- "$application" change 50 "$BRANCHES"
  check 'a sink that copies the frame it keeps, when a branch is added' known 1 'I4 fakesink0' 'to read pixels by the CPU: 1 time' -- -- "$application" open 40 "${LATE/ enable-last-sample=false/}"
  check 'a fence that is pending between elements' slow_fence fence
  check 'a fence of a driver that is pending between elements' slow_fence implicit-fence
  check 'a workload that somebody else runs' records 'videotestsrc ! dmabufupload ! kmsdmabufsink' 0 'result: pass'
  check 'a mapping past GstMemory' known 1 'I4 the pipeline' '1 dma-buf mapped by an mmap()' -- -- "$application" mmap 50 'v4l2src io-mode=dmabuf num-buffers=60 ! identity name=here ! kmsdmabufsink'
  if gst-inspect-1.0 --exists --atleast-version=1.24 glupload; then # Mesa 22.3 imports no dma-bufs
    export GST_GL_WINDOW=egl-device GST_GL_PLATFORM=egl GST_GL_API=gles2
    check 'an upload of upstream to a GPU' known 0 '' 'in another memory, by a device' -- --skip I1,I3 videotestsrc num-buffers=20 ! dmabufupload ! video/x-raw,format=NV12 ! glupload ! fakesink
    check 'an upload of upstream that silently falls back to a copy' known 1 'I4 gluploadelement0' 'copied pixels: 20 of 20 frames' -- --skip I1,I3 videotestsrc num-buffers=20 ! dmabufupload ! video/x-raw,format=RGB ! glupload ! fakesink
  else # later v4l2sink takes no progressive frames for vivid's output
    check 'an output device of upstream, which is not seen to import' known 2 '' 'I1  unknown' 'I3  unknown' 'without DMA' -- videotestsrc num-buffers=20 ! dmabufupload ! video/x-raw,format=NV12,width=640,height=480 ! v4l2sink io-mode=dmabuf-import
  fi
  check 'a program that crashes' eval 'gives 2 -- "$application" crash 50 "$SHOWN" && says "ended by SIGABRT" "kmsdmabufsink0" "I3  unknown"'
  check 'a program that exits within a frame' eval 'gives 0 --skip I3 -- "$application" exit 50 "$SHOWN" && says "50 passed on"'
}

if [[ -n ${GST_DRM_IN_BOX:-} ]]; then in_box; else native; fi
echo "1..$count"
exit "$failed"
