/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The axl kernel interface (docs/axl.md): a frame's dma-buf is imported once, an inference is
 * submitted with a result dma-buf, and a sync_file says when the result is there.
 *
 * No public driver has this interface. It comes from a design document, which gives the names of
 * structs, fields and flags and no numbers: types, the order of fields, the ioctl magic and the
 * ioctl numbers are this project's. The public driver of the card (ioctl magic 'U') answers each of
 * these requests with ENOTTY.
 *
 * Plain C for a kernel module and for C++. Every struct has the same layout for 32-bit and 64-bit
 * programs.
 */
#ifndef GST_DRM_METIS_AXL_UAPI_H
#define GST_DRM_METIS_AXL_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define AXL_IOCTL_MAGIC 0xf7

/* The only pixel format of the document: 8 bits per sample, 2x2 chroma, U before V. */
#define AXL_PIXFMT_NV12 0x3231564e /* 'N' 'V' '1' '2', as DRM_FORMAT_NV12 */

/* How the device uses an imported buffer. One of the two, or 0 if the device only writes. */
#define AXL_IMPORT_BIDIRECTIONAL 0x1
#define AXL_IMPORT_TO_DEVICE 0x2

/*
 * Attaches the dma-buf `fd` to the device and maps it until RELEASE_IMPORT or until the device is
 * closed. Without SET_LAYOUT, the planes lie tightly packed: stride `width`, chroma directly after
 * luma. Errors: EBADF and EINVAL: fd is no dma-buf; EINVAL: size, pixfmt or flags; ENOSPC: the
 * picture does not fit into the dma-buf; ENODEV: the device is lost.
 */
struct axl_import_fd {
  __s32 fd;                /* in */
  __u32 width;             /* in: pixels, even */
  __u32 height;            /* in: pixels, even */
  __u32 pixfmt;            /* in: AXL_PIXFMT_* */
  __u32 flags;             /* in: AXL_IMPORT_* */
  __u32 handle;            /* out: never 0 */
  __aligned_u64 iova_base; /* out: device address of the first byte; for diagnostics */
  __aligned_u64 size;      /* out: bytes of the dma-buf */
};

/*
 * Submits one inference and returns at once. Requests of a device are done in the order of
 * submission. The driver does not wait for any fence of the frame or of the result: the caller
 * waits before it submits. The driver holds both buffers until the fence has signalled.
 *
 * The fence is a sync_file and always signals: with success when the result is written, else with
 * an error. ETIMEDOUT: not done timeout_us after the device began it; EINVAL: the firmware refused
 * the request; ENODATA: the device wrote less than the model's result; ENODEV: the device was lost;
 * ECANCELED: the device was closed.
 *
 * `completion_us` is 0, because the ioctl returns before the completion. SYNC_IOC_FILE_INFO
 * (linux/sync_file.h) returns its time as the timestamp of the fence, on the clock of `submit_us`.
 *
 * Errors: ENOENT: no such handle or no such model; EBADF and EINVAL: result_fd is no dma-buf;
 * ENOSPC: the result dma-buf is too small; EBUSY: the queue of the device is full, or another
 * process has the device; ENODEV: the device is lost.
 */
struct axl_submit {
  __u32 input_handle;          /* in: from IMPORT_FD */
  __s32 result_fd;             /* in: a dma-buf; the result starts at its first byte */
  __u32 model_id;              /* in: a model that the device has loaded */
  __u32 timeout_us;            /* in: 0: the driver's own limit */
  __s32 fence_fd;              /* out: a sync_file, close-on-exec */
  __u32 reserved;              /* 0 */
  __aligned_u64 submit_us;     /* out: CLOCK_MONOTONIC */
  __aligned_u64 completion_us; /* out: 0, see above */
};

#define AXL_IOCTL_IMPORT_FD _IOWR(AXL_IOCTL_MAGIC, 0x01, struct axl_import_fd)
#define AXL_IOCTL_SUBMIT _IOWR(AXL_IOCTL_MAGIC, 0x02, struct axl_submit)
/* Takes a pointer to the handle. ENOENT: no such handle; 0 is none. Works on a lost device, too. */
#define AXL_IOCTL_RELEASE_IMPORT _IOW(AXL_IOCTL_MAGIC, 0x03, __u32)

/*
 * Extensions of this project, which the document does not have: numbers from 0x40. A driver without
 * them answers ENOTTY; frames must then be tightly packed, and the model's description must name
 * the result's shape.
 */

/* Where the planes of an imported frame lie. Errors: ENOENT, EINVAL, ENOSPC as IMPORT_FD. */
struct axl_layout {
  __u32 handle;            /* in */
  __u32 n_planes;          /* in: 2 */
  __u32 stride[2];         /* in: bytes */
  __aligned_u64 offset[2]; /* in: bytes from the start of the dma-buf */
};

#define AXL_TENSOR_UINT8 0
#define AXL_TENSOR_INT8 1
#define AXL_TENSOR_FLOAT32 2
#define AXL_MAX_DIMS 8

/* What a loaded model takes and what its one result tensor is. Error: ENOENT: no such model. */
struct axl_model_info {
  __u32 model_id;                  /* in */
  __u32 input_width;               /* out: pixels; 0: any size */
  __u32 input_height;              /* out */
  __u32 input_pixfmt;              /* out: AXL_PIXFMT_* */
  __u32 result_type;               /* out: AXL_TENSOR_* */
  __u32 result_ndims;              /* out: 1 to AXL_MAX_DIMS */
  __u32 result_dims[AXL_MAX_DIMS]; /* out: outermost first */
  __aligned_u64 result_size;       /* out: bytes */
  __aligned_u64 scale_1e9; /* out: value = (q - zero_point) * scale_1e9 * 1e-9; 0: not quantised */
  __s32 zero_point;        /* out */
  __u32 reserved;          /* out: 0 */
};

#define AXL_IOCTL_SET_LAYOUT _IOW(AXL_IOCTL_MAGIC, 0x40, struct axl_layout)
#define AXL_IOCTL_QUERY_MODEL _IOWR(AXL_IOCTL_MAGIC, 0x41, struct axl_model_info)

#ifdef __cplusplus
#define AXL_ASSERT(condition) static_assert(condition, #condition)
#else
#define AXL_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#define AXL_ASSERT_OFFSET(type, field, at)                                                         \
  AXL_ASSERT(__builtin_offsetof(struct type, field) == (at))

AXL_ASSERT(sizeof(struct axl_import_fd) == 40);
AXL_ASSERT_OFFSET(axl_import_fd, fd, 0);
AXL_ASSERT_OFFSET(axl_import_fd, width, 4);
AXL_ASSERT_OFFSET(axl_import_fd, height, 8);
AXL_ASSERT_OFFSET(axl_import_fd, pixfmt, 12);
AXL_ASSERT_OFFSET(axl_import_fd, flags, 16);
AXL_ASSERT_OFFSET(axl_import_fd, handle, 20);
AXL_ASSERT_OFFSET(axl_import_fd, iova_base, 24);
AXL_ASSERT_OFFSET(axl_import_fd, size, 32);
AXL_ASSERT(sizeof(struct axl_submit) == 40);
AXL_ASSERT_OFFSET(axl_submit, input_handle, 0);
AXL_ASSERT_OFFSET(axl_submit, result_fd, 4);
AXL_ASSERT_OFFSET(axl_submit, model_id, 8);
AXL_ASSERT_OFFSET(axl_submit, timeout_us, 12);
AXL_ASSERT_OFFSET(axl_submit, fence_fd, 16);
AXL_ASSERT_OFFSET(axl_submit, submit_us, 24);
AXL_ASSERT_OFFSET(axl_submit, completion_us, 32);
AXL_ASSERT(sizeof(struct axl_layout) == 32);
AXL_ASSERT_OFFSET(axl_layout, stride, 8);
AXL_ASSERT_OFFSET(axl_layout, offset, 16);
AXL_ASSERT(sizeof(struct axl_model_info) == 80);
AXL_ASSERT_OFFSET(axl_model_info, result_dims, 24);
AXL_ASSERT_OFFSET(axl_model_info, result_size, 56);
AXL_ASSERT_OFFSET(axl_model_info, scale_1e9, 64);
AXL_ASSERT_OFFSET(axl_model_info, zero_point, 72);

#undef AXL_ASSERT_OFFSET
#undef AXL_ASSERT

#endif /* GST_DRM_METIS_AXL_UAPI_H */
