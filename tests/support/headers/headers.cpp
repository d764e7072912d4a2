// SPDX-License-Identifier: LGPL-2.1-or-later
// Nothing: meson compiles the headers of a program that has a source.
int main() {}
