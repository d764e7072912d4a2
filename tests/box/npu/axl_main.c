// SPDX-License-Identifier: GPL-2.0
/* Devices, descriptors and ioctls of the test NPU. */
#include <linux/debugfs.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "axl.h"

static struct axl_device *axl_devices;
static unsigned int axl_made;
static struct dentry *axl_debugfs;

static int axl_open(struct inode *inode, struct file *filp)
{
	struct axl_device *axl = container_of(filp->private_data, struct axl_device, misc);
	struct axl_file *file;

	if (READ_ONCE(axl->lost))
		return -ENODEV;
	if (axl_is_busy())
		return -EBUSY;
	file = kzalloc(sizeof(*file), GFP_KERNEL);
	if (!file)
		return -ENOMEM;
	file->axl = axl;
	file->generation = READ_ONCE(axl->generation);
	init_waitqueue_head(&file->idle);
	xa_init_flags(&file->imports, XA_FLAGS_ALLOC1);
	filp->private_data = file;
	return 0;
}

/* After close() the device touches no memory on behalf of the descriptor: what is submitted is cancelled. */
static int axl_close(struct inode *inode, struct file *filp)
{
	struct axl_file *file = filp->private_data;

	WRITE_ONCE(file->closing, true);
	wake_up_all(&file->axl->wake);
	wait_event(file->idle, !atomic_read(&file->in_flight));
	spin_lock(&file->idle.lock); /* axl_finish() may still hold it */
	spin_unlock(&file->idle.lock);
	axl_release_imports(file);
	kfree(file);
	return 0;
}

static int axl_layout_ioctl(struct axl_file *file, void __user *user)
{
	struct axl_layout layout;

	if (copy_from_user(&layout, user, sizeof(layout)))
		return -EFAULT;
	return axl_set_layout(file, &layout);
}

static int axl_model_ioctl(void __user *user)
{
	const struct axl_model *model;
	struct axl_model_info info;

	if (copy_from_user(&info, user, sizeof(info)))
		return -EFAULT;
	model = axl_find_model(info.model_id);
	if (!model)
		return -ENOENT;
	return copy_to_user(user, &model->info, sizeof(model->info)) ? -EFAULT : 0;
}

static long axl_ioctl(struct file *filp, unsigned int request, unsigned long argument)
{
	struct axl_file *file = filp->private_data;
	void __user *user = (void __user *)argument;
	u32 handle;

	if (request == AXL_IOCTL_RELEASE_IMPORT)
		return copy_from_user(&handle, user, sizeof(handle)) ? -EFAULT : axl_release_dmabuf(file, handle);
	if (READ_ONCE(file->axl->lost) || file->generation != READ_ONCE(file->axl->generation))
		return -ENODEV;
	switch (request) {
	case AXL_IOCTL_IMPORT_FD:
		return axl_import_dmabuf(file, user);
	case AXL_IOCTL_SUBMIT:
		return axl_submit(file, user);
	case AXL_IOCTL_SET_LAYOUT:
		return axl_layout_ioctl(file, user);
	case AXL_IOCTL_QUERY_MODEL:
		return axl_model_ioctl(user);
	}
	return -ENOTTY;
}

static const struct file_operations axl_fops = {
	.owner = THIS_MODULE,
	.open = axl_open,
	.release = axl_close,
	.unlocked_ioctl = axl_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static int axl_lost_get(void *data, u64 *value)
{
	*value = READ_ONCE(((struct axl_device *)data)->lost);
	return 0;
}

/* 0 brings a lost device back; descriptors that were open stay dead. */
static int axl_lost_set(void *data, u64 value)
{
	if (value)
		axl_lose(data);
	else
		WRITE_ONCE(((struct axl_device *)data)->lost, false);
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(axl_lost_fops, axl_lost_get, axl_lost_set, "%llu\n");

static void axl_make_debugfs(struct axl_device *axl)
{
	axl->debugfs = debugfs_create_dir(axl->name, axl_debugfs);
	debugfs_create_atomic_t("imports", 0444, axl->debugfs, &axl->imports);
	debugfs_create_atomic_t("results", 0444, axl->debugfs, &axl->results);
	debugfs_create_atomic_t("in_flight", 0444, axl->debugfs, &axl->in_flight);
	debugfs_create_u64("submissions", 0444, axl->debugfs, &axl->submissions);
	debugfs_create_file_unsafe("lost", 0644, axl->debugfs, axl, &axl_lost_fops);
}

static void axl_init_device(struct axl_device *axl, int number)
{
	axl->number = number;
	snprintf(axl->name, sizeof(axl->name), "metis-0:%x:0", number + 1);
	snprintf(axl->timeline, sizeof(axl->timeline), "metis-%d", number);
	init_waitqueue_head(&axl->wake);
	mutex_init(&axl->submit_lock);
	spin_lock_init(&axl->lock);
	INIT_LIST_HEAD(&axl->queue);
	axl->fence_context = dma_fence_context_alloc(1);
	axl->misc.minor = MISC_DYNAMIC_MINOR;
	axl->misc.name = axl->name;
	axl->misc.fops = &axl_fops;
}

static int axl_add_device(struct axl_device *axl, int number)
{
	struct platform_device_info info = { .name = "metis", .id = number, .dma_mask = DMA_BIT_MASK(64) };
	int ret;

	axl_init_device(axl, number);
	axl->pdev = platform_device_register_full(&info);
	if (IS_ERR(axl->pdev))
		return PTR_ERR(axl->pdev);
	axl->worker = kthread_run(axl_worker, axl, "%s", axl->name);
	if (IS_ERR(axl->worker)) {
		ret = PTR_ERR(axl->worker);
		goto unregister;
	}
	axl->misc.parent = &axl->pdev->dev;
	ret = misc_register(&axl->misc);
	if (ret)
		goto stop;
	axl_make_debugfs(axl);
	return 0;

stop:
	kthread_stop(axl->worker);
unregister:
	platform_device_unregister(axl->pdev);
	return ret;
}

/* No descriptor is open: each holds the module. So nothing is queued. */
static void axl_remove_device(struct axl_device *axl)
{
	debugfs_remove_recursive(axl->debugfs);
	misc_deregister(&axl->misc);
	kthread_stop(axl->worker);
	platform_device_unregister(axl->pdev);
}

static void axl_exit(void)
{
	while (axl_made)
		axl_remove_device(&axl_devices[--axl_made]);
	debugfs_remove_recursive(axl_debugfs);
	/* whoever asks a fence for its names has done so */
	synchronize_rcu();
	kfree(axl_devices);
}

static int __init axl_init(void)
{
	unsigned int n = axl_n_devices();
	int ret;

	axl_devices = kcalloc(n, sizeof(*axl_devices), GFP_KERNEL);
	if (!axl_devices)
		return -ENOMEM;
	axl_debugfs = debugfs_create_dir("axl", NULL);
	for (; axl_made < n; axl_made++) {
		ret = axl_add_device(&axl_devices[axl_made], axl_made);
		if (ret) {
			axl_exit();
			return ret;
		}
	}
	return 0;
}

module_init(axl_init);
module_exit(axl_exit);
MODULE_DESCRIPTION("Test NPU with the axl kernel interface");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("DMA_BUF");
