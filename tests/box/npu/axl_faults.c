// SPDX-License-Identifier: GPL-2.0
/* The module's parameters: how the device behaves, and what goes wrong. All can be written while it runs. */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>

#include "axl.h"

static DEFINE_MUTEX(axl_faults_lock); /* the countdowns below */

static unsigned int devices = 1;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "how many: metis-0:1:0, metis-0:2:0, ... (0 to 8)");
static unsigned int latency_us = 1000;
module_param(latency_us, uint, 0644);
MODULE_PARM_DESC(latency_us, "time on the device of one inference");
static unsigned int fail_nth;
module_param(fail_nth, uint, 0644);
MODULE_PARM_DESC(fail_nth, "counts down; the submission that makes it 0 ends with EINVAL");
static unsigned int lose_nth;
module_param(lose_nth, uint, 0644);
MODULE_PARM_DESC(lose_nth, "counts down; with the submission that makes it 0 the device is lost");
static unsigned int hang_nth;
module_param(hang_nth, uint, 0644);
MODULE_PARM_DESC(hang_nth, "counts down; the submission that makes it 0 is never done: ETIMEDOUT");
static unsigned int missing_irq_nth;
module_param(missing_irq_nth, uint, 0644);
MODULE_PARM_DESC(missing_irq_nth, "counts down; the submission that makes it 0 is done without an interrupt");
static bool short_result;
module_param(short_result, bool, 0644);
MODULE_PARM_DESC(short_result, "the device writes half of each result: ENODATA");
static bool busy;
module_param(busy, bool, 0644);
MODULE_PARM_DESC(busy, "open() and SUBMIT fail with EBUSY");

bool axl_is_busy(void)
{
	return READ_ONCE(busy);
}

u32 axl_latency_us(void)
{
	return READ_ONCE(latency_us);
}

unsigned int axl_n_devices(void)
{
	return min(devices, 8U);
}

static bool axl_count_down(unsigned int *nth)
{
	return *nth && --*nth == 0;
}

void axl_draw_faults(struct axl_faults *faults)
{
	mutex_lock(&axl_faults_lock);
	faults->fail = axl_count_down(&fail_nth);
	faults->lose = axl_count_down(&lose_nth);
	faults->hang = axl_count_down(&hang_nth);
	faults->missing_irq = axl_count_down(&missing_irq_nth);
	faults->short_result = short_result;
	mutex_unlock(&axl_faults_lock);
}
