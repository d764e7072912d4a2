// SPDX-License-Identifier: GPL-2.0
/* The queue of a device: fences, the thread that stands for the hardware, and its watchdog. */
#include <linux/dma-mapping.h>
#include <linux/file.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/sync_file.h>
#include <linux/uaccess.h>

#include "axl.h"

#define AXL_DEFAULT_TIMEOUT_US 1000000

struct axl_fence {
	struct dma_fence base; /* first: dma_fence_free() frees the whole */
	const char *timeline;
};

static const char *axl_driver_name(struct dma_fence *fence)
{
	return "axl";
}

static const char *axl_timeline_name(struct dma_fence *fence)
{
	return container_of(fence, struct axl_fence, base)->timeline;
}

/* Neither wait nor release: a fence that has signalled does not need this module any more. */
static const struct dma_fence_ops axl_fence_ops = {
	.get_driver_name = axl_driver_name,
	.get_timeline_name = axl_timeline_name,
};

static void axl_free_job(struct axl_job *job)
{
	if (!job)
		return;
	axl_buf_put(job->input);
	axl_buf_put(job->result);
	dma_fence_put(job->fence);
	kvfree(job->picture);
	kvfree(job->scratch);
	kvfree(job->output);
	kfree(job);
}

/*
 * Signals first: unmapping takes the reservation lock of the dma-buf, whose holder may be waiting for this very fence
 * (Documentation/driver-api/dma-buf.rst, "DMA Fence Signalling Annotations").
 */
static void axl_finish(struct axl_device *axl, struct axl_job *job, int error)
{
	struct axl_file *file = job->file;

	dma_sync_sgtable_for_cpu(&axl->pdev->dev, job->result->sgt, DMA_FROM_DEVICE);
	if (error)
		dma_fence_set_error(job->fence, error);
	dma_fence_signal(job->fence);
	axl_free_job(job);
	atomic_dec(&axl->in_flight);
	/* under the lock: axl_close() frees the file once it has seen 0 and had the lock */
	spin_lock(&file->idle.lock);
	if (atomic_dec_and_test(&file->in_flight))
		wake_up_locked(&file->idle);
	spin_unlock(&file->idle.lock);
}

static int axl_interruption(const struct axl_job *job)
{
	if (READ_ONCE(job->file->axl->lost) || job->file->generation != READ_ONCE(job->file->axl->generation))
		return -ENODEV;
	return READ_ONCE(job->file->closing) ? -ECANCELED : 0;
}

/* Until `end`, or until the job is cut short. */
static void axl_pass_time(struct axl_device *axl, const struct axl_job *job, ktime_t end)
{
	ktime_t left = ktime_sub(end, ktime_get());

	if (left > 0)
		wait_event_hrtimeout(axl->wake, axl_interruption(job), left);
}

static int axl_write_result(struct axl_job *job)
{
	u32 bytes = job->model->info.result_size;

	if (job->faults.fail)
		return -EINVAL;
	if (job->faults.short_result)
		bytes /= 2;
	axl_dma(job->result, 0, job->output, bytes, DMA_FROM_DEVICE);
	return job->faults.short_result ? -ENODATA : 0;
}

/* One job on the device. The device takes latency_us from the end of the job before, or from the submission. */
static int axl_do(struct axl_device *axl, struct axl_job *job)
{
	ktime_t start = max(job->submitted, axl->free_at);
	ktime_t done = ktime_add_us(start, axl_latency_us());
	bool late;
	int error;

	job->limit = ktime_add_us(start, job->timeout_us);
	late = job->faults.hang || done > job->limit;
	if (job->faults.lose)
		axl_lose(axl);
	error = axl_interruption(job);
	if (error)
		return error;
	axl_read_picture(job);
	job->model->run(job);
	axl->free_at = late ? job->limit : done;
	axl_pass_time(axl, job, axl->free_at);
	error = axl_interruption(job);
	if (!error)
		return late ? -ETIMEDOUT : axl_write_result(job);
	axl->free_at = ktime_get();
	return error;
}

static struct axl_job *axl_take(struct axl_device *axl)
{
	struct axl_job *job;

	spin_lock(&axl->lock);
	job = list_first_entry_or_null(&axl->queue, struct axl_job, node);
	if (job)
		list_del(&job->node);
	spin_unlock(&axl->lock);
	return job;
}

static bool axl_has_work(struct axl_device *axl, const struct axl_job *unseen)
{
	return kthread_should_stop() || !list_empty_careful(&axl->queue) || (unseen && axl_interruption(unseen));
}

/* The hardware. `unseen` is done, but its interrupt is missing: the next interrupt or the watchdog finds it. */
int axl_worker(void *data)
{
	struct axl_device *axl = data;
	struct axl_job *unseen = NULL;

	current->timer_slack_ns = 1;
	while (!kthread_should_stop()) {
		struct axl_job *job;
		int error = 0;

		if (unseen)
			wait_event_hrtimeout(axl->wake, axl_has_work(axl, unseen),
					     max(ktime_sub(unseen->limit, ktime_get()), 0));
		else
			wait_event_interruptible(axl->wake, axl_has_work(axl, NULL));
		job = axl_take(axl);
		if (job)
			error = axl_do(axl, job);
		if (unseen)
			axl_finish(axl, unseen, 0);
		unseen = NULL;
		if (job && !error && job->faults.missing_irq)
			unseen = job;
		else if (job)
			axl_finish(axl, job, error);
	}
	return 0;
}

/* Everything on the device ends with ENODEV, and all descriptors that are open now are dead. */
void axl_lose(struct axl_device *axl)
{
	spin_lock(&axl->lock);
	axl->generation++;
	axl->lost = true;
	spin_unlock(&axl->lock);
	wake_up_all(&axl->wake);
}

static int axl_new_fence(struct axl_device *axl, struct axl_job *job)
{
	struct axl_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL);

	if (!fence)
		return -ENOMEM;
	fence->timeline = axl->timeline;
	dma_fence_init(&fence->base, &axl_fence_ops, NULL, axl->fence_context, ++axl->seqno);
	job->fence = &fence->base;
	return 0;
}

/* The device's memory for a job. */
static int axl_alloc_memory(struct axl_job *job)
{
	const struct axl_model *model = job->model;

	job->picture = kvmalloc((size_t)job->input->width * job->input->height * 3 / 2, GFP_KERNEL);
	job->output = kvzalloc(model->info.result_size, GFP_KERNEL);
	if (model->scratch)
		job->scratch = kvmalloc(model->scratch(), GFP_KERNEL);
	return job->picture && job->output && (job->scratch || !model->scratch) ? 0 : -ENOMEM;
}

static int axl_fill_job(struct axl_file *file, const struct axl_submit *args, struct axl_job *job)
{
	struct axl_buf *result;

	job->file = file;
	job->timeout_us = args->timeout_us ? args->timeout_us : AXL_DEFAULT_TIMEOUT_US;
	job->model = axl_find_model(args->model_id);
	if (!job->model)
		return -ENOENT;
	job->input = axl_find_import(file, args->input_handle);
	if (!job->input)
		return -ENOENT;
	job->layout = job->input->layout;
	result = axl_attach(file->axl, args->result_fd, DMA_FROM_DEVICE, &file->axl->results);
	if (IS_ERR(result))
		return PTR_ERR(result);
	job->result = result;
	if (result->dmabuf->size < job->model->info.result_size)
		return -ENOSPC;
	return axl_alloc_memory(job);
}

static struct axl_job *axl_new_job(struct axl_file *file, const struct axl_submit *args)
{
	struct axl_job *job = kzalloc(sizeof(*job), GFP_KERNEL);
	int ret;

	if (!job)
		return ERR_PTR(-ENOMEM);
	ret = axl_fill_job(file, args, job);
	if (ret) {
		axl_free_job(job);
		return ERR_PTR(ret);
	}
	return job;
}

/* From here on the fence signals. */
static void axl_queue(struct axl_device *axl, struct axl_job *job)
{
	axl_draw_faults(&job->faults);
	atomic_inc(&axl->in_flight);
	atomic_inc(&job->file->in_flight);
	spin_lock(&axl->lock);
	axl->submissions++;
	list_add_tail(&job->node, &axl->queue);
	spin_unlock(&axl->lock);
	wake_up_all(&axl->wake);
}

/* Whatever may fail comes before the job is in the queue. A fence that nobody has seen need not signal. */
static int axl_submit_job(struct axl_device *axl, struct axl_job *job, struct axl_submit *args,
			  struct axl_submit __user *user)
{
	struct sync_file *sync_file;
	int ret;

	if (axl_is_busy() || atomic_read(&axl->in_flight) >= AXL_QUEUE_MAX)
		return -EBUSY;
	ret = axl_new_fence(axl, job);
	if (ret)
		return ret;
	args->fence_fd = get_unused_fd_flags(O_CLOEXEC);
	if (args->fence_fd < 0)
		return args->fence_fd;
	ret = -ENOMEM;
	sync_file = sync_file_create(job->fence);
	if (!sync_file)
		goto put_fd;
	job->submitted = ktime_get();
	args->submit_us = ktime_to_us(job->submitted);
	args->completion_us = 0;
	ret = -EFAULT;
	if (copy_to_user(user, args, sizeof(*args)))
		goto put_file;
	fd_install(args->fence_fd, sync_file->file);
	axl_queue(axl, job);
	return 0;

put_file:
	fput(sync_file->file);
put_fd:
	put_unused_fd(args->fence_fd);
	return ret;
}

int axl_submit(struct axl_file *file, struct axl_submit __user *user)
{
	struct axl_submit args;
	struct axl_job *job;
	int ret;

	if (copy_from_user(&args, user, sizeof(args)))
		return -EFAULT;
	if (args.reserved)
		return -EINVAL;
	job = axl_new_job(file, &args);
	if (IS_ERR(job))
		return PTR_ERR(job);
	mutex_lock(&file->axl->submit_lock);
	ret = axl_submit_job(file->axl, job, &args, user);
	mutex_unlock(&file->axl->submit_lock);
	if (ret) {
		if (job->fence)
			dma_fence_signal(job->fence); /* an unsignalled fence must not be freed */
		axl_free_job(job);
	}
	return ret;
}
