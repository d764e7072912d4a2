// SPDX-License-Identifier: GPL-2.0
/* Model 1, whose result shows every fault of a transfer. README.md has its definition, from which tests compute the same. */
#include <linux/minmax.h>

#include "axl.h"

/* A plane as a grid of sites, each of which is a 3x3 convolution over `samples` interleaved channels. */
struct axl_conv {
	const u8 *plane;
	u32 width, height, pitch, samples;
	u32 grid; /* sites per side */
	int factor, summand;
};

static int axl_weight(int number, int factor, int summand)
{
	return (number * factor + summand) % 31 - 15;
}

static int axl_site(const struct axl_conv *conv, int channel, u32 row, u32 column)
{
	u32 left = column * (conv->width - 3) / (conv->grid - 1);
	u32 top = row * (conv->height - 3) / (conv->grid - 1);
	int taps = 9 * conv->samples;
	int sum = 64 * channel;
	int tap;

	for (tap = 0; tap < taps; tap++) {
		u32 x = left + tap / conv->samples % 3;
		u32 y = top + tap / conv->samples / 3;
		int value = conv->plane[y * conv->pitch + x * conv->samples + tap % conv->samples] - 128;

		sum += axl_weight(channel * taps + tap, conv->factor, conv->summand) * value;
	}
	return clamp(sum, 0, 127 << 6) >> 6;
}

/* 4 channels x 4 quadrants: the mean of the quadrant's sites, rounded down. */
static void axl_features(const struct axl_conv *conv, int *features)
{
	u32 half = conv->grid / 2;
	u32 channel, quadrant, site;

	for (channel = 0; channel < 4; channel++) {
		for (quadrant = 0; quadrant < 4; quadrant++) {
			int sum = 0;

			for (site = 0; site < half * half; site++)
				sum += axl_site(conv, channel, quadrant / 2 * half + site / half,
						quadrant % 2 * half + site % half);
			features[channel * 4 + quadrant] = sum / (int)(half * half);
		}
	}
}

static u32 axl_sum(const u8 *bytes, size_t n)
{
	u32 sum = 0;

	while (n--)
		sum = sum * 31 + *bytes++;
	return sum;
}

static void axl_put_le(s8 *to, u32 value, int bytes)
{
	for (; bytes; bytes--, value >>= 8)
		*to++ = (s8)value;
}

void axl_run_check(struct axl_job *job)
{
	u32 width = job->input->width, height = job->input->height;
	size_t luma_bytes = (size_t)width * height;
	const u8 *chroma = job->picture + luma_bytes;
	s8 *output = job->output;
	struct axl_conv luma_conv = { job->picture, width, height, width, 1, 16, 37, 11 };
	struct axl_conv chroma_conv = { chroma, width / 2, height / 2, width, 2, 8, 29, 7 };
	int features[32];
	int o, f;

	axl_features(&luma_conv, features);
	axl_features(&chroma_conv, features + 16);
	for (o = 0; o < 16; o++) {
		int sum = 0;

		for (f = 0; f < 32; f++)
			sum += axl_weight(o * 32 + f, 23, 5) * features[f];
		output[o] = clamp(sum >> 7, -128, 127);
	}
	axl_put_le(output + 16, axl_sum(job->picture, luma_bytes), 4);
	axl_put_le(output + 20, axl_sum(chroma, luma_bytes / 2), 4);
	axl_put_le(output + 24, width, 2);
	axl_put_le(output + 26, height, 2);
	output[28] = (s8)job->picture[0];
	output[29] = (s8)chroma[-1];
	output[30] = (s8)chroma[luma_bytes / 2 - 2];
	output[31] = (s8)chroma[luma_bytes / 2 - 1];
}
