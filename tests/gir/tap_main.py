# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the cases of the program that was started, and reports each in the format that meson reads."""
import sys
import unittest

from gi.repository import Gst
from tap import TAPTestRunner


def main():
    Gst.init(None)
    runner = TAPTestRunner()
    runner.set_stream(True)
    runner.set_format('{method_name}')
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__'])
    sys.exit(0 if runner.run(suite).wasSuccessful() else 1)
