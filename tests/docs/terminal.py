#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What gst-launch-1.0 prints, in the box: the reason of a negotiation that fails, as the first error; and no error where the
pipeline plays in the end. TAP.

usage: terminal.py SOURCE
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from blocks import Tap
from examples import make_clips, play

STARTS = 2  # of the same pipeline: on a busy machine threads come in another order
LONGEST = 480  # bytes: 400 of reason, and what to do; whole lists are in the debug info
MODEL = 'tests/data/models/blazeface-short-128.onnx'
DMA_DRM = "'video/x-raw(memory:DMABuf),format=DMA_DRM,drm-format={}'"

# the pipeline; what the first error has to say
FAILING = (
    ('videotestsrc ! video/x-raw,format=YUY2 ! kmsdmabufsink', ('YUY2', 'The display takes plain', 'videoconvert')),
    ('videotestsrc ! video/x-raw,width=5000,height=3000 ! kmsdmabufsink', ('width 5000', 'videoscale')),
    ('videotestsrc ! video/x-raw,format=BGRx ! kmsdmabufsink zero-copy=require', ('plain BGRx', 'dmabufupload')),
    ('videotestsrc ! queue ! video/x-raw,format=YUY2 ! tee name=t t. ! queue ! fakesink t. ! queue ! kmsdmabufsink', ('YUY2', 'videoconvert')),
    ('videotestsrc ! video/x-raw,format=YUY2 ! dmabufupload ! kmsdmabufsink', ('YUY2', 'kmsdmabufsink0', 'videoconvert')),
    ('videotestsrc ! video/x-raw,format=GRAY16_BE ! egldmabufupload zero-copy=require ! fakesink', ('GRAY16_BE', 'zero-copy')),
    ('videotestsrc ! video/x-raw,format=BGRx ! egldmabufupload mode=import ! fakesink', ('mode=import', 'mode=auto')),
    ('videotestsrc ! video/x-raw,format=BGRx ! egldmabufupload mode=copy ! "video/x-raw(memory:GLMemory),texture-target=external-oes" ! fakesink',
     ('plain BGRx', 'memory:GLMemory', 'glcolorconvert')),
    (f'videotestsrc ! video/x-raw,format=NV12 ! vadmabufconvert ! {DMA_DRM.format("R8")} ! fakesink', ('NV12', 'R8')),
    (f'videotestsrc ! video/x-raw,format=NV12,width=5000,height=3000 ! metisdmabufinfer backend=cpu model={MODEL} ! kmsdmabufsink', ('width 5000',)),
    ('vadmabufsrc ! dmabufdownload ! video/x-raw,format=YUY2 ! kmsdmabufsink', ('no format in common', 'dmabufdownload0')),
    ('videotestsrc ! video/x-raw,format=YUY2 ! drmoverlay ! kmsdmabufsink', ('YUY2', 'videoconvert')),
    # caps in a capsfilter that nothing can meet: gst-launch-1.0 links in NULL, and must get as far as a reason
    (f'videotestsrc ! video/x-raw,format=RGB ! dmabufupload ! {DMA_DRM.format("XR24")} ! fakesink', ('plain RGB', 'XR24', 'videoconvert')),
    (f'videotestsrc ! video/x-raw,format=NV12 ! dmabufupload ! {DMA_DRM.format("NV12:0x0100000000000002")} ! fakesink', ('INTEL_Y_TILED', 'linear layouts only')),
    (f'videotestsrc ! dmabufupload ! {DMA_DRM.format("nv12")} ! fakesink', ('drm-format=nv12 is no format', 'write drm-format=NV12')),
    (f'vadmabufsrc ! {DMA_DRM.format("RGBA")} ! fakesink', ('drm-format=RGBA is no format', 'write drm-format=AB24')),
    (f'videotestsrc ! video/x-raw,format=P010_10LE ! dmabufupload ! {DMA_DRM.format("P010_10LE")} ! fakesink', ('write drm-format=P010.',)),
    (f'videotestsrc ! dmabufupload ! {DMA_DRM.format("NV12:0x0")} ! kmsdmabufsink', ('the linear modifier is written by leaving it out',)),
    ("videotestsrc ! dmabufupload implicit-modifier=refuse ! 'video/x-raw(memory:DMABuf),format=NV12' ! fakesink", ('only a driver knows', 'implicit-modifier=linear')),
    # as vendors' manuals have it for their decoders
    ('videotestsrc ! video/x-raw,format=NV12 ! dmabufupload ! "video/x-raw(memory:DMABuf),format=NV12" ! kmsdmabufsink',
     ('memory:DMABuf NV12', 'kmsdmabufsink0', 'implicit-modifier=linear there')),
    ('videotestsrc ! video/x-raw,format=NV12 ! dmabufupload ! "video/x-raw(memory:DMABuf),format=NV12" ! dmabufrelabel ! kmsdmabufsink',
     ('memory:DMABuf NV12', 'dmabufrelabel0', 'modifier=linear in a dmabufrelabel')),
    # vivid; v4l2src asks without a filter
    ('v4l2src ! video/x-raw,format=YUY2 ! dmabufupload ! kmsdmabufsink', ('dmabufupload0', 'v4l2src0', 'YUY2', 'videoconvert')),
    ('v4l2src ! video/x-raw,format=YUY2 ! queue ! kmsdmabufsink', ('v4l2src0', 'YUY2', 'videoconvert')),
    ('v4l2src ! video/x-raw,format=YUY2 ! videorate ! kmsdmabufsink', ('videorate0', 'YUY2', 'videoconvert')),
    # asks nobody before it sends caps, and changes them to interlaced ones
    ('videotestsrc ! video/x-raw,format=YUY2 ! fieldanalysis ! vadmabufconvert ! fakesink', ('fieldanalysis0', 'interlaced', 'deinterlace')),
)

SINK = 'dmabufupload ! kmsdmabufsink'
# Elements on the way ask what may flow, and go on where the answer is that nothing of it may.
PLAYING = (
    f'filesrc location=clip.webm ! decodebin ! {SINK}',
    'filesrc location=clip.mp4 ! decodebin ! kmsdmabufsink',
    'uridecodebin uri=file://$PWD/clip.webm ! kmsdmabufsink',
    'uridecodebin3 uri=file://$PWD/clip.webm ! kmsdmabufsink',
    'playbin uri=file://$PWD/clip.webm video-sink=kmsdmabufsink',
    'playbin3 uri=file://$PWD/clip.mp4 video-sink=kmsdmabufsink',
    'playbin uri=file://$PWD/clip.mp4 flags=video video-filter=dmabufupload video-sink=kmsdmabufsink',
    # without the capsfilter that of GStreamer 1.26 chooses a bin of OpenGL, and finds no format behind it
    f'videotestsrc num-buffers=20 ! autovideoconvert ! video/x-raw,format=NV12 ! {SINK}',
    'videotestsrc num-buffers=20 ! video/x-raw,format=YUY2 ! tee name=t t. ! queue ! fakesink t. ! queue ! videoconvert ! kmsdmabufsink',
    f'videotestsrc num-buffers=20 ! video/x-raw,format=NV12 ! input-selector name=s videotestsrc num-buffers=20 ! video/x-raw,format=BGRx ! s. s. ! {SINK}',
    'videotestsrc num-buffers=20 ! video/x-raw,format=YUY2 ! deinterlace ! videoconvert ! videoscale ! kmsdmabufsink',
    'videotestsrc num-buffers=20 ! compositor name=c videotestsrc num-buffers=20 ! video/x-raw,format=YUY2 ! c. c. ! kmsdmabufsink',
    # elements of GStreamer 1.22 pass DMA_DRM on in a caps query, and fail on such caps
    'videotestsrc num-buffers=20 ! dmabufupload ! overlaycomposition ! kmsdmabufsink',
    'videotestsrc num-buffers=20 ! dmabufupload ! videocrop left=32 top=8 ! kmsdmabufsink',
    'videotestsrc num-buffers=20 ! dmabufupload ! videocrop left=31 top=7 ! egldmabufupload ! glcolorconvert ! gldownload ! fakesink',
    # the display does not show what comes
    'videotestsrc num-buffers=20 ! video/x-raw,format=YUY2 ! dmabufupload ! vadmabufconvert ! kmsdmabufsink',
    'v4l2src num-buffers=20 io-mode=dmabuf ! video/x-raw,format=YUY2,width=640,height=480 ! vadmabufconvert ! queue ! kmsdmabufsink',
    # a converter asks an element that has no answer of its own about one format after the other
    'videotestsrc num-buffers=20 ! video/x-raw,format=BGR10A2_LE ! dmabufupload ! vadmabufconvert ! videosegmentclip ! kmsdmabufsink',
    'videotestsrc num-buffers=20 ! video/x-raw,format=NV12 ! dmabufupload ! vadmabufconvert ! videobalance ! drmoverlay ! fakesink',
    'videotestsrc num-buffers=20 ! video/x-raw,format=NV12 ! dmabufupload ! vadmabufconvert ! videocrop ! fakesink',
    # from GStreamer 1.24 on it crops DMA_DRM by a meta, which fakesink and appsink do not take
    'videotestsrc num-buffers=20 ! video/x-raw,format=NV12 ! dmabufupload ! vadmabufconvert ! videocrop left=32 top=8 ! queue ! fakesink',
    'videotestsrc num-buffers=20 ! video/x-raw,format=NV12 ! dmabufupload ! vadmabufconvert ! queue ! aspectratiocrop aspect-ratio=1/1 ! fakesink',
    'gltestsrc num-buffers=20 ! egldmabufdownload ! videocrop left=32 ! tee name=t t. ! queue ! fakesink t. ! queue ! videoconvert ! kmsdmabufsink',
    'videotestsrc num-buffers=20 ! video/x-raw,format=NV12 ! dmabufupload ! vadmabufconvert ! videocrop left=32 top=8 ! kmsdmabufsink',
    'gltestsrc num-buffers=20 ! egldmabufdownload ! overlaycomposition ! drmoverlay ! fakesink',
    'videotestsrc num-buffers=20 ! dmabufupload ! videobalance ! queue ! kmsdmabufsink',
    f'videotestsrc num-buffers=20 ! dmabufupload ! videoflip method=clockwise ! {SINK}',
    'videotestsrc num-buffers=1 ! imagefreeze num-buffers=20 ! kmsdmabufsink',
    'videotestsrc num-buffers=20 ! video/x-raw,format=NV12 ! dmabufupload ! dmabufdownload ! encodebin profile="video/x-theora" ! fakesink',
    'concat name=c ! kmsdmabufsink videotestsrc num-buffers=9 ! video/x-raw,format=BGRx,width=320 ! c. videotestsrc num-buffers=9 ! video/x-raw,format=NV12,width=640 ! c.',
)

# After what vendors' guides, READMEs and issues have, with elements of this set where theirs stood.
CAMERA = 'v4l2src num-buffers=10'
INFER = f'metisdmabufinfer backend=cpu model={MODEL}'
USERS = (
    # Hailo's template of one network
    f'filesrc location=clip.webm ! decodebin ! videoconvert ! videoscale ! queue leaky=no max-size-buffers=30 max-size-bytes=0 max-size-time=0 ! {INFER} ! '
    'queue ! drmtensordecode qos=false ! queue ! drmoverlay ! videoconvert ! fpsdisplaysink video-sink=kmsdmabufsink sync=false text-overlay=false',
    # TI's: a picture for the network beside the one that is shown
    f'{CAMERA} io-mode=2 ! video/x-raw,format=NV12,width=640,height=480 ! tee name=t t. ! queue ! dmabufupload ! vadmabufconvert ! '
    'video/x-raw,width=454,height=256 ! videoconvert ! video/x-raw,format=RGB ! videobox left=115 right=115 top=16 bottom=16 ! fakesink '
    't. ! queue ! kmsdmabufsink driver-name=vkms sync=false',
    # a mosaic of cameras, as i.MX's compositors make it
    'compositor name=c sink_1::xpos=320 ! dmabufupload ! kmsdmabufsink sync=false videotestsrc num-buffers=10 ! video/x-raw,width=320,height=240 ! c. '
    'videotestsrc num-buffers=10 pattern=ball ! video/x-raw,width=320,height=240 ! c.',
    # DL Streamer's: frames of VA-API into inference
    f'videotestsrc num-buffers=10 ! video/x-raw,format=NV12 ! vadmabufconvert ! "video/x-raw(memory:DMABuf)" ! {INFER} ! queue ! drmtensordecode ! '
    'drmoverlay ! kmsdmabufsink sync=false',
    # memory:DMABuf without a format, between a compositor's source and GL, an encoder, a window
    'vadmabufsrc num-buffers=10 ! "video/x-raw(memory:DMABuf),width=640,height=480,framerate=60/1" ! egldmabufupload ! glcolorconvert ! '
    '"video/x-raw(memory:GLMemory),format=NV12" ! fakesink',
    # a decoder of a vendor's, whose caps name no layout
    'videotestsrc num-buffers=10 ! video/x-raw,format=NV12 ! dmabufupload implicit-modifier=linear ! "video/x-raw(memory:DMABuf),format=NV12" ! '
    'kmsdmabufsink implicit-modifier=linear sync=false',
    'videotestsrc num-buffers=10 ! video/x-raw,format=NV12 ! dmabufupload ! "video/x-raw(memory:DMABuf),format=NV12" ! '
    'dmabufrelabel modifier=linear ! kmsdmabufsink sync=false',
    # a grey industrial camera, whose rows are no multiple of four
    'videotestsrc num-buffers=10 ! video/x-raw,format=GRAY8,width=725,height=541 ! dmabufupload ! kmsdmabufsink sync=false',
    'videotestsrc num-buffers=10 ! video/x-bayer,format=rggb,width=640,height=480 ! bayer2rgb ! dmabufupload ! kmsdmabufsink sync=false',
    # shown and recorded, the newest frame alone
    f'{CAMERA} ! video/x-raw,format=NV12,width=640,height=480 ! dmabufupload ! tee name=t t. ! queue leaky=2 max-size-buffers=1 ! kmsdmabufsink sync=false '
    't. ! queue ! videoconvert ! jpegenc ! matroskamux ! fakesink',
    f'{CAMERA} ! videoflip method=horizontal-flip ! dmabufupload ! kmsdmabufsink sync=false',
    # snapshots of what GL made
    'gltestsrc num-buffers=5 ! egldmabufdownload ! pngenc ! multifilesink location=%d.png',
    # turned by its tag, with fields, of no known rate
    'videotestsrc num-buffers=10 ! video/x-raw,format=NV12 ! taginject tags=image-orientation=rotate-90 ! dmabufupload ! vadmabufconvert video-direction=auto ! '
    'kmsdmabufsink sync=false',
    'videotestsrc num-buffers=10 ! video/x-raw,format=NV12 ! interlace field-pattern=1:1 ! egldmabufupload ! gldeinterlace ! fakesink',
    'videotestsrc num-buffers=10 ! capssetter caps=video/x-raw,framerate=0/1 ! dmabufupload ! kmsdmabufsink sync=false',
)

# As people start kmssink, after its documentation and after boards' manuals.
KMSSINK = (
    'videotestsrc num-buffers=60 ! kmssink',
    '-v videotestsrc num-buffers=20 ! kmssink',
    'videotestsrc num-buffers=20 ! video/x-raw,format=NV12,width=640,height=480,framerate=30/1 ! queue ! kmssink driver-name=vkms sync=false',
    'videotestsrc num-buffers=20 ! videoconvert ! kmssink name=sink sync=true',
)


def first_error(command, cwd):
    """The text of the first error that is printed, and all that is printed until a second after it. gst-launch-1.0 of GStreamer
    1.22 does not end where an error comes before its main loop runs, with kmssink as well."""
    with subprocess.Popen(['bash', '-c', f'exec gst-launch-1.0 {command}'], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace') as launch:
        stop = threading.Timer(10, launch.kill)
        stop.start()
        text = ''
        lines = []
        for line in launch.stdout:
            lines.append(line)
            if not text and (found := re.match(r'ERROR: from element \S+: (.*)$', line)):
                text = found[1]
                stop.cancel()
                stop = threading.Timer(1, launch.kill)
                stop.start()
        stop.cancel()
    return text, ''.join(lines)


def fails_with_reason(command, words, cwd):
    text, output = first_error(command, cwd)
    missing = [word for word in words if word not in text]
    if missing or len(text.encode()) > LONGEST:
        return f'missing: {missing}; {len(text.encode())} bytes\n{output}'
    print(f'# {text}')
    return None


def main():
    source = pathlib.Path(sys.argv[1])
    tap = Tap()
    with tempfile.TemporaryDirectory() as cwd:
        make_clips(cwd)
        (pathlib.Path(cwd) / 'tests').symlink_to(source / 'tests')
        for command, words in FAILING:
            tap.case(f'the reason: {command}', fails_with_reason(command, words, cwd))
        command, words = FAILING[0]
        problems = [problem for _ in range(STARTS) if (problem := fails_with_reason(command, words, cwd))]
        tap.case(f'each of {STARTS} starts: {command}', f'{len(problems)} without: {problems[0]}' if problems else None)
        for command in PLAYING:
            tap.case(f'plays: {command}', play(f'gst-launch-1.0 {command}', cwd))
        for command in USERS:
            tap.case(f'a user has: {command}', play(f'gst-launch-1.0 {command}', cwd))
        for command in KMSSINK:
            tap.case(f'as kmssink: {command}', play('gst-launch-1.0 ' + command.replace('kmssink', 'kmsdmabufsink'), cwd))
    tap.end()


if __name__ == '__main__':
    main()
