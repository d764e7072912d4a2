/* SPDX-License-Identifier: GPL-2.0 */
/* The test NPU: a driver with the interface of axl_uapi.h, and the device behind it in software. */
#ifndef AXL_H
#define AXL_H

#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "axl_uapi.h"

#define AXL_CHECK_VALUES 32  /* of the result of model 1 */
#define AXL_SKIN_BOXES 8132 /* of model 2, 5 values each */
#define AXL_QUEUE_MAX 64
#define AXL_MIN_SIDE 16
#define AXL_MAX_SIDE 16384

struct axl_device {
	int number;
	char name[24];
	char timeline[16];
	struct platform_device *pdev; /* dma-bufs are attached to its device */
	struct miscdevice misc;
	struct dentry *debugfs;
	struct task_struct *worker;
	wait_queue_head_t wake; /* the worker: a job, a loss, a close */
	struct mutex submit_lock; /* the order of fences is that of the queue */
	spinlock_t lock;	  /* queue */
	struct list_head queue;
	atomic_t in_flight; /* in the queue or being done */
	u64 fence_context;
	u64 seqno;
	u64 submissions; /* so far */
	ktime_t free_at; /* when the device was done with the last job; worker only */
	bool lost;
	unsigned int generation; /* losses so far: descriptors opened before the last one are dead */
	atomic_t imports;	 /* alive */
	atomic_t results;	 /* likewise */
};

/* One open descriptor. */
struct axl_file {
	struct axl_device *axl;
	unsigned int generation;
	bool closing;
	atomic_t in_flight;
	wait_queue_head_t idle;
	struct xarray imports; /* by handle */
};

/* A run of bytes that is contiguous for the device. */
struct axl_run {
	u64 start; /* offset in the dma-buf */
	u64 bytes;
	void *cpu; /* what lies at the DMA address */
};

/* A dma-buf that is attached and mapped: an imported frame, or the result of a submission. */
struct axl_buf {
	struct kref ref;
	struct axl_device *axl;
	atomic_t *alive; /* axl->imports or axl->results */
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	enum dma_data_direction dir;
	struct axl_run *runs;
	unsigned int n_runs;
	u32 width;
	u32 height;
	struct axl_layout layout;
};

/* What goes wrong with a job. */
struct axl_faults {
	bool fail;
	bool lose;
	bool hang;
	bool missing_irq;
	bool short_result;
};

struct axl_job;

struct axl_model {
	struct axl_model_info info;
	void (*run)(struct axl_job *job);
	size_t (*scratch)(void); /* bytes; NULL: none */
};

struct axl_job {
	struct list_head node;
	struct axl_file *file;
	struct axl_buf *input;
	struct axl_buf *result;
	struct axl_layout layout;
	struct dma_fence *fence;
	struct axl_faults faults;
	ktime_t submitted;
	ktime_t limit; /* when the watchdog looks */
	u32 timeout_us;
	const struct axl_model *model;
	/* the device's own memory */
	u8 *picture; /* luma, chroma, tightly packed */
	void *scratch;
	void *output;
};

/* axl_dmabuf.c */
struct axl_buf *axl_attach(struct axl_device *axl, int fd, enum dma_data_direction dir, atomic_t *alive);
void axl_buf_put(struct axl_buf *buf);
void axl_dma(const struct axl_buf *buf, u64 offset, void *device, size_t bytes, enum dma_data_direction dir);
int axl_import_dmabuf(struct axl_file *file, struct axl_import_fd __user *user);
int axl_release_dmabuf(struct axl_file *file, u32 handle);
int axl_set_layout(struct axl_file *file, const struct axl_layout *layout);
struct axl_buf *axl_find_import(struct axl_file *file, u32 handle);
void axl_release_imports(struct axl_file *file);

/* axl_submit.c */
int axl_submit(struct axl_file *file, struct axl_submit __user *user);
int axl_worker(void *axl);
void axl_lose(struct axl_device *axl);

/* axl_models.c */
const struct axl_model *axl_find_model(u32 id);
void axl_read_picture(struct axl_job *job);

/* axl_check.c, axl_skin.c */
void axl_run_check(struct axl_job *job);
void axl_run_skin(struct axl_job *job);
size_t axl_skin_scratch(void);

/* axl_faults.c */
bool axl_is_busy(void);
u32 axl_latency_us(void);
unsigned int axl_n_devices(void);
void axl_draw_faults(struct axl_faults *faults);

#endif
