// SPDX-License-Identifier: GPL-2.0
/* The models that the device has loaded. */
#include <linux/kernel.h>

#include "axl.h"

static const struct axl_model axl_models[] = {
	{
		.info = {
			.model_id = 1,
			.input_pixfmt = AXL_PIXFMT_NV12,
			.result_type = AXL_TENSOR_INT8,
			.result_ndims = 2,
			.result_dims = { 1, AXL_CHECK_VALUES },
			.result_size = AXL_CHECK_VALUES,
			.scale_1e9 = 1000000000,
		},
		.run = axl_run_check,
	},
	{
		.info = {
			.model_id = 2,
			.input_pixfmt = AXL_PIXFMT_NV12,
			.result_type = AXL_TENSOR_FLOAT32,
			.result_ndims = 3,
			.result_dims = { 1, 5, AXL_SKIN_BOXES },
			.result_size = 5 * AXL_SKIN_BOXES * sizeof(u32),
		},
		.run = axl_run_skin,
		.scratch = axl_skin_scratch,
	},
};

/* NULL: no such model. */
const struct axl_model *axl_find_model(u32 id)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(axl_models); i++)
		if (axl_models[i].info.model_id == id)
			return &axl_models[i];
	return NULL;
}

/* The frame's planes, row by row, into the device's memory. */
void axl_read_picture(struct axl_job *job)
{
	const struct axl_buf *in = job->input;
	u8 *to = job->picture;
	u32 plane, y;

	for (plane = 0; plane < 2; plane++)
		for (y = 0; y < in->height >> plane; y++, to += in->width)
			axl_dma(in, job->layout.offset[plane] + (u64)y * job->layout.stride[plane], to, in->width,
				DMA_TO_DEVICE);
}
