/* SPDX-License-Identifier: GPL-2.0 */
/* axl:axl_dmabuf_import and axl:axl_dmabuf_release, with the fields that the design document gives them (docs/axl.md). */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM axl

#if !defined(AXL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define AXL_TRACE_H

#include <linux/dma-buf.h>
#include <linux/tracepoint.h>

TRACE_EVENT(axl_dmabuf_import,
	TP_PROTO(u32 handle, struct dma_buf *dmabuf, dma_addr_t iova, size_t size),
	TP_ARGS(handle, dmabuf, iova, size),
	TP_STRUCT__entry(
		__field(u32, handle)
		__field(unsigned long, inode)
		__field(u64, iova)
		__field(size_t, size)
		__string(exporter, dmabuf->exp_name)
	),
	TP_fast_assign(
		__entry->handle = handle;
		__entry->inode = file_inode(dmabuf->file)->i_ino;
		__entry->iova = iova;
		__entry->size = size;
		__assign_str(exporter);
	),
	TP_printk("handle=%u inode=%lu exporter=%s iova=0x%llx size=%zu", __entry->handle,
		__entry->inode, __get_str(exporter), __entry->iova, __entry->size)
);

TRACE_EVENT(axl_dmabuf_release,
	TP_PROTO(u32 handle, struct dma_buf *dmabuf),
	TP_ARGS(handle, dmabuf),
	TP_STRUCT__entry(
		__field(u32, handle)
		__field(unsigned long, inode)
	),
	TP_fast_assign(
		__entry->handle = handle;
		__entry->inode = file_inode(dmabuf->file)->i_ino;
	),
	TP_printk("handle=%u inode=%lu", __entry->handle, __entry->inode)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE axl_trace
#include <trace/define_trace.h>
