// SPDX-License-Identifier: BSD-2-Clause
/*
 * fault.c - calls that fail by order, and devices that cannot go on.
 *
 * An order is for one symbol, or for any call, and counts calls from when it
 * was given. The call that it strikes does nothing at all.
 *
 * A sticky error is one of the device: every call that may return errors of
 * earlier work returns it, until the process ends.
 */
#include <stdio.h>

#include "tests/model/internal.h"

#define ANY_CALL NR_CALLS

struct order {
	u64 left;		/* calls until it strikes, 0: no order */
	CUresult code;
	bool sticky;
};

static struct order orders[NR_CALLS + 1];

static bool strikes(struct order *order, CUresult *code)
{
	if (!order->left || --order->left)
		return false;
	*code = refuse(0, order->code, "ordered by the test");
	if (order->sticky)
		device_fault(max(context_device(), 0), order->code,
			     "ordered by the test");
	return true;
}

bool fault_injected(enum call_id id, CUresult *code)
{
	return strikes(&orders[id], code) || strikes(&orders[ANY_CALL], code);
}

int fault_order(int id, u64 nth, CUresult code, bool sticky)
{
	orders[id] = (struct order){ nth, code, sticky };
	return 0;
}

void fault_reset(void)
{
	memset(orders, 0, sizeof(orders));
}

void device_fault(int device, CUresult code, const char *why)
{
	struct device *d = &model.devices[device];

	if (d->sticky)
		return;
	d->sticky = code;
	snprintf(d->why, sizeof(d->why), "%s", why);
	refuse(0, code, why);
	pthread_cond_broadcast(&model.cond);
}

const char *sticky_why(int device)
{
	if (device < 0 || device >= DEVICES_MAX)
		return "";
	return model.devices[device].why;
}

CUresult sticky_of(int device)
{
	int i;

	if (device >= 0)
		return device < DEVICES_MAX ? model.devices[device].sticky : 0;
	for (i = 0; i < DEVICES_MAX; i++)
		if (model.devices[i].sticky)
			return model.devices[i].sticky;
	return CUDA_SUCCESS;
}
