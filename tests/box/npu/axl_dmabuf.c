// SPDX-License-Identifier: GPL-2.0
/*
 * dma-bufs that the device uses. It reads and writes at the DMA addresses of the mapping, as hardware does: no
 * dma_buf_vmap(), no pages of the sg_table. In the box a DMA address is a physical address (dma-direct).
 */
#include <linux/dma-direct.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "axl.h"

#define CREATE_TRACE_POINTS
#include "axl_trace.h"

static int axl_map_runs(struct axl_buf *buf)
{
	struct device *dev = &buf->axl->pdev->dev;
	struct scatterlist *sg;
	u64 start = 0;
	int i;

	buf->runs = kvcalloc(buf->sgt->nents, sizeof(*buf->runs), GFP_KERNEL);
	if (!buf->runs)
		return -ENOMEM;
	for_each_sgtable_dma_sg(buf->sgt, sg, i) {
		buf->runs[i].start = start;
		buf->runs[i].bytes = sg_dma_len(sg);
		buf->runs[i].cpu = phys_to_virt(dma_to_phys(dev, sg_dma_address(sg)));
		start += sg_dma_len(sg);
	}
	buf->n_runs = buf->sgt->nents;
	return start < buf->dmabuf->size ? -EINVAL : 0;
}

static void axl_buf_free(struct kref *ref)
{
	struct axl_buf *buf = container_of(ref, struct axl_buf, ref);

	kvfree(buf->runs);
	dma_buf_unmap_attachment_unlocked(buf->attach, buf->sgt, buf->dir);
	dma_buf_detach(buf->dmabuf, buf->attach);
	dma_buf_put(buf->dmabuf);
	atomic_dec(buf->alive);
	kfree(buf);
}

void axl_buf_put(struct axl_buf *buf)
{
	if (buf)
		kref_put(&buf->ref, axl_buf_free);
}

/* `alive` counts the buffer until it is freed. */
struct axl_buf *axl_attach(struct axl_device *axl, int fd, enum dma_data_direction dir, atomic_t *alive)
{
	struct axl_buf *buf = kzalloc(sizeof(*buf), GFP_KERNEL);
	int ret;

	if (!buf)
		return ERR_PTR(-ENOMEM);
	kref_init(&buf->ref);
	buf->axl = axl;
	buf->dir = dir;
	buf->alive = alive;
	buf->dmabuf = dma_buf_get(fd);
	if (IS_ERR(buf->dmabuf)) {
		ret = PTR_ERR(buf->dmabuf);
		goto free;
	}
	buf->attach = dma_buf_attach(buf->dmabuf, &axl->pdev->dev);
	if (IS_ERR(buf->attach)) {
		ret = PTR_ERR(buf->attach);
		goto put;
	}
	buf->sgt = dma_buf_map_attachment_unlocked(buf->attach, dir);
	if (IS_ERR(buf->sgt)) {
		ret = PTR_ERR(buf->sgt);
		goto detach;
	}
	atomic_inc(alive);
	ret = axl_map_runs(buf);
	if (ret) {
		axl_buf_put(buf);
		return ERR_PTR(ret);
	}
	return buf;

detach:
	dma_buf_detach(buf->dmabuf, buf->attach);
put:
	dma_buf_put(buf->dmabuf);
free:
	kfree(buf);
	return ERR_PTR(ret);
}

/* The last run that starts at or before `offset`. */
static unsigned int axl_find_run(const struct axl_buf *buf, u64 offset)
{
	unsigned int low = 0, high = buf->n_runs;

	while (high - low > 1) {
		unsigned int middle = low + (high - low) / 2;

		if (buf->runs[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* A transfer of the device's DMA engine between its own memory and the dma-buf; the range has been checked. */
void axl_dma(const struct axl_buf *buf, u64 offset, void *device, size_t bytes, enum dma_data_direction dir)
{
	unsigned int i = axl_find_run(buf, offset);

	while (bytes) {
		const struct axl_run *run = &buf->runs[i++];
		u64 skip = offset - run->start;
		size_t part = min_t(u64, bytes, run->bytes - skip);

		if (dir == DMA_TO_DEVICE)
			memcpy(device, run->cpu + skip, part);
		else
			memcpy(run->cpu + skip, device, part);
		device += part;
		offset += part;
		bytes -= part;
	}
}

static int axl_check_layout(const struct axl_buf *buf, const struct axl_layout *layout)
{
	const u32 rows[2] = { buf->height, buf->height / 2 };
	int i;

	if (layout->n_planes != 2)
		return -EINVAL;
	for (i = 0; i < 2; i++) {
		u64 end = (u64)layout->stride[i] * (rows[i] - 1) + buf->width;

		if (layout->stride[i] < buf->width)
			return -EINVAL;
		if (layout->offset[i] > buf->dmabuf->size || end > buf->dmabuf->size - layout->offset[i])
			return -ENOSPC;
	}
	return 0;
}

static bool axl_size_is_good(u32 side)
{
	return side >= AXL_MIN_SIDE && side <= AXL_MAX_SIDE && side % 2 == 0;
}

static int axl_set_size(struct axl_buf *buf, const struct axl_import_fd *args)
{
	struct axl_layout tight = {
		.n_planes = 2,
		.stride = { args->width, args->width },
		.offset = { 0, (u64)args->width * args->height },
	};

	buf->width = args->width;
	buf->height = args->height;
	buf->layout = tight;
	return axl_check_layout(buf, &tight);
}

int axl_import_dmabuf(struct axl_file *file, struct axl_import_fd __user *user)
{
	struct axl_device *axl = file->axl;
	enum dma_data_direction dir;
	struct axl_import_fd args;
	struct axl_buf *buf;
	int ret;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	if (args.pixfmt != AXL_PIXFMT_NV12 || !axl_size_is_good(args.width) || !axl_size_is_good(args.height) ||
	    args.flags > AXL_IMPORT_TO_DEVICE)
		return -EINVAL;
	dir = args.flags == AXL_IMPORT_BIDIRECTIONAL ? DMA_BIDIRECTIONAL :
	      args.flags == AXL_IMPORT_TO_DEVICE     ? DMA_TO_DEVICE :
						       DMA_FROM_DEVICE;
	buf = axl_attach(axl, args.fd, dir, &axl->imports);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	ret = axl_set_size(buf, &args);
	if (ret)
		goto put;
	args.iova_base = sg_dma_address(buf->sgt->sgl);
	args.size = buf->dmabuf->size;
	kref_get(&buf->ref); /* another thread may guess the handle and release it */
	ret = xa_alloc(&file->imports, &args.handle, buf, XA_LIMIT(1, INT_MAX), GFP_KERNEL);
	if (ret) {
		axl_buf_put(buf);
		goto put;
	}
	trace_axl_dmabuf_import(args.handle, buf->dmabuf, args.iova_base, args.size);
	if (copy_to_user(user, &args, sizeof(args))) {
		axl_release_dmabuf(file, args.handle);
		ret = -EFAULT;
	}
put:
	axl_buf_put(buf);
	return ret;
}

/* A submission that uses the import keeps it alive. */
int axl_release_dmabuf(struct axl_file *file, u32 handle)
{
	struct axl_buf *buf = xa_erase(&file->imports, handle);

	if (!buf)
		return -ENOENT;
	trace_axl_dmabuf_release(handle, buf->dmabuf);
	axl_buf_put(buf);
	return 0;
}

/* A reference for the caller. */
struct axl_buf *axl_find_import(struct axl_file *file, u32 handle)
{
	struct axl_buf *buf;

	xa_lock(&file->imports);
	buf = xa_load(&file->imports, handle);
	if (buf)
		kref_get(&buf->ref);
	xa_unlock(&file->imports);
	return buf;
}

int axl_set_layout(struct axl_file *file, const struct axl_layout *layout)
{
	struct axl_buf *buf = axl_find_import(file, layout->handle);
	int ret;

	if (!buf)
		return -ENOENT;
	ret = axl_check_layout(buf, layout);
	if (!ret) {
		xa_lock(&file->imports);
		buf->layout = *layout;
		xa_unlock(&file->imports);
	}
	axl_buf_put(buf);
	return ret;
}

void axl_release_imports(struct axl_file *file)
{
	struct axl_buf *buf;
	unsigned long handle;

	xa_for_each(&file->imports, handle, buf)
		axl_release_dmabuf(file, handle);
	xa_destroy(&file->imports);
}
