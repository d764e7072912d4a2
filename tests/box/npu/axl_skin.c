// SPDX-License-Identifier: GPL-2.0
/*
 * Model 2, which finds a face by the colour of skin: a network of convolutions and ReLU with fixed integer weights.
 * README.md has its definition. The box's kernel code uses no floating point; the results are integers over powers of
 * two, so their bit patterns are exact.
 */
#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include "axl.h"

#define GRID 64
#define INPUT_SIDE 256 /* the coordinates of the result */
#define CELL (INPUT_SIDE / GRID)
#define PEAK 9 /* of a cell's likeness */
#define MARGIN 2

static const u8 axl_windows[][2] = {
	{ 4, 4 }, { 4, 8 }, { 6, 6 }, { 6, 10 }, { 8, 8 }, { 8, 14 }, { 12, 12 }, { 12, 20 }, { 16, 16 },
	{ 16, 24 }, { 20, 28 },
};

/* sum[y][x]: all cells above row y and left of column x */
struct axl_sums {
	s32 sum[GRID + 1][GRID + 1];
};

static int relu(int value)
{
	return max(value, 0);
}

/* PEAK at the centre, 0 from a distance of PEAK on: three units of a hidden layer. */
static int axl_peak(int value, int centre)
{
	return relu(value - centre + PEAK) - 2 * relu(value - centre) + relu(value - centre - PEAK);
}

/* The mean of U (k = 0) or V (k = 1) over a cell, as int8, rounded towards zero. */
static int axl_mean(const u8 *chroma, u32 pitch, u32 left, u32 top, u32 right, u32 bottom, u32 k)
{
	int sum = 0;
	u32 x, y;

	for (y = top; y < bottom; y++)
		for (x = left; x < right; x++)
			sum += chroma[y * pitch + 2 * x + k] - 128;
	return sum / (int)((right - left) * (bottom - top));
}

static int axl_likeness(const struct axl_job *job, const u8 *chroma, u32 row, u32 column)
{
	u32 width = job->input->width / 2, height = job->input->height / 2;
	u32 left = column * width / GRID, top = row * height / GRID;
	u32 right = max((column + 1) * width / GRID, left + 1), bottom = max((row + 1) * height / GRID, top + 1);
	int u = axl_mean(chroma, 2 * width, left, top, right, bottom, 0);
	int v = axl_mean(chroma, 2 * width, left, top, right, bottom, 1);
	int a = axl_peak(v, 16), b = axl_peak(u, -15);

	return a - relu(a - b);
}

static void axl_sum_up(struct axl_job *job, struct axl_sums *sums)
{
	const u8 *chroma = job->picture + (size_t)job->input->width * job->input->height;
	u32 x, y;

	memset(sums, 0, sizeof(*sums));
	for (y = 0; y < GRID; y++)
		for (x = 0; x < GRID; x++)
			sums->sum[y + 1][x + 1] = axl_likeness(job, chroma, y, x) + sums->sum[y][x + 1] +
						  sums->sum[y + 1][x] - sums->sum[y][x];
}

/* What lies beyond the grid is 0. */
static int axl_box(const struct axl_sums *sums, int x, int y, int w, int h)
{
	int left = max(x, 0), top = max(y, 0), right = min(x + w, GRID), bottom = min(y + h, GRID);

	return sums->sum[bottom][right] - sums->sum[top][right] - sums->sum[bottom][left] + sums->sum[top][left];
}

/* 0 to 256: the window's mean against that of the frame around it, through a curve that lifts the middle. */
static int axl_score(const struct axl_sums *sums, int x, int y, int w, int h)
{
	int area = w * h, frame = (w + 2 * MARGIN) * (h + 2 * MARGIN) - area;
	int inside = axl_box(sums, x, y, w, h);
	int around = axl_box(sums, x - MARGIN, y - MARGIN, w + 2 * MARGIN, h + 2 * MARGIN) - inside;
	int contrast = relu(inside * 256 / (area * PEAK) - around * 256 / (frame * PEAK));

	return 512 * contrast / (256 + contrast);
}

/* The float32 of value / 2^shift; value below 2^24. */
static u32 axl_float(u32 value, int shift)
{
	int exponent = fls(value) - 1;

	return value ? (127 + exponent - shift) << 23 | (value << (23 - exponent) & 0x7fffff) : 0;
}

static u32 *axl_put_box(u32 *to, const struct axl_sums *sums, int x, int y, int w, int h)
{
	to[0 * AXL_SKIN_BOXES] = axl_float(CELL * (2 * x + w), 1);
	to[1 * AXL_SKIN_BOXES] = axl_float(CELL * (2 * y + h), 1);
	to[2 * AXL_SKIN_BOXES] = axl_float(CELL * w, 0);
	to[3 * AXL_SKIN_BOXES] = axl_float(CELL * h, 0);
	to[4 * AXL_SKIN_BOXES] = axl_float(axl_score(sums, x, y, w, h), 8);
	return to + 1;
}

size_t axl_skin_scratch(void)
{
	return sizeof(struct axl_sums);
}

void axl_run_skin(struct axl_job *job)
{
	const struct axl_sums *sums = job->scratch;
	u32 *to = job->output;
	u32 i, x, y;

	axl_sum_up(job, job->scratch);
	for (i = 0; i < ARRAY_SIZE(axl_windows); i++) {
		u32 w = axl_windows[i][0], h = axl_windows[i][1];

		for (y = 0; y + h <= GRID; y += 2)
			for (x = 0; x + w <= GRID; x += 2)
				to = axl_put_box(to, sums, x, y, w, h);
	}
}
