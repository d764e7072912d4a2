/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The part of NVIDIA's NvBufSurface interface that the tests use, in the layout of Jetson Linux 35
 * and 36 on LP64: written from the public description, so that frames of memory:NVMM can be made
 * without a Jetson. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NVBUF_MAX_PLANES 4
#define STRUCTURE_PADDING 4

typedef enum {
  NVBUF_COLOR_FORMAT_INVALID = 0,
  NVBUF_COLOR_FORMAT_YUV420 = 2,
  NVBUF_COLOR_FORMAT_NV12 = 6,
  NVBUF_COLOR_FORMAT_NV12_ER = 7,
  NVBUF_COLOR_FORMAT_NV21 = 8,
  NVBUF_COLOR_FORMAT_RGBA = 19,
  NVBUF_COLOR_FORMAT_NV12_10LE = 29,
  NVBUF_COLOR_FORMAT_NV12_709 = 33,
  NVBUF_COLOR_FORMAT_NV12_709_ER = 34,
  NVBUF_COLOR_FORMAT_NV12_2020 = 36
} NvBufSurfaceColorFormat;

typedef enum { NVBUF_LAYOUT_PITCH, NVBUF_LAYOUT_BLOCK_LINEAR } NvBufSurfaceLayout;

typedef enum {
  NVBUF_MEM_DEFAULT,
  NVBUF_MEM_CUDA_PINNED,
  NVBUF_MEM_CUDA_DEVICE,
  NVBUF_MEM_CUDA_UNIFIED,
  NVBUF_MEM_SURFACE_ARRAY,
  NVBUF_MEM_HANDLE,
  NVBUF_MEM_SYSTEM
} NvBufSurfaceMemType;

typedef enum { NVBUF_MAP_READ, NVBUF_MAP_WRITE, NVBUF_MAP_READ_WRITE } NvBufSurfaceMemMapFlags;

typedef struct {
  uint32_t gpuId, width, height, size;
  bool isContiguous;
  NvBufSurfaceColorFormat colorFormat;
  NvBufSurfaceLayout layout;
  NvBufSurfaceMemType memType;
} NvBufSurfaceCreateParams;

typedef struct {
  uint32_t num_planes;
  uint32_t width[NVBUF_MAX_PLANES], height[NVBUF_MAX_PLANES];
  uint32_t pitch[NVBUF_MAX_PLANES], offset[NVBUF_MAX_PLANES];
  uint32_t psize[NVBUF_MAX_PLANES], bytesPerPix[NVBUF_MAX_PLANES];
  void *_reserved[STRUCTURE_PADDING * NVBUF_MAX_PLANES];
} NvBufSurfacePlaneParams;

typedef struct {
  void *addr[NVBUF_MAX_PLANES];
  void *eglImage;
  void *_reserved[STRUCTURE_PADDING];
} NvBufSurfaceMappedAddr;

typedef struct {
  uint32_t width, height, pitch;
  NvBufSurfaceColorFormat colorFormat;
  NvBufSurfaceLayout layout;
  uint64_t bufferDesc; /* the dma-buf */
  uint32_t dataSize;
  void *dataPtr;
  NvBufSurfacePlaneParams planeParams;
  NvBufSurfaceMappedAddr mappedAddr;
  void *paramex;
  void *_reserved[STRUCTURE_PADDING - 1];
} NvBufSurfaceParams;

typedef struct {
  uint32_t gpuId, batchSize, numFilled;
  bool isContiguous;
  NvBufSurfaceMemType memType;
  NvBufSurfaceParams *surfaceList;
  void *_reserved[STRUCTURE_PADDING];
} NvBufSurface;

#pragma GCC visibility push(default)
/* 0 is success. Of the formats only NV12 has planes of its own here; all others get one plane. */
int NvBufSurfaceCreate(NvBufSurface **surf, uint32_t batchSize, NvBufSurfaceCreateParams *params);
int NvBufSurfaceDestroy(NvBufSurface *surf);
int NvBufSurfaceMap(NvBufSurface *surf, int index, int plane, NvBufSurfaceMemMapFlags type);
int NvBufSurfaceUnMap(NvBufSurface *surf, int index, int plane);
int NvBufSurfaceSyncForDevice(NvBufSurface *surf, int index, int plane);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
