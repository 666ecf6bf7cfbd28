// SPDX-License-Identifier: BSD-2-Clause
/* cuda_scope.c - around each driver call; the theory is in cuda_dev.h. */
#include <errno.h>
#include <pthread.h>

#include "vmm/cuda_dev.h"

/* ---- Health ----------------------------------------------------------- */

static CUresult dead_result(const struct cuda_dev *d)
{
	return __atomic_load_n(&d->dead_result, __ATOMIC_ACQUIRE);
}

static void die(struct cuda_dev *d, const char *call, CUresult result)
{
	CUresult none = CUDA_SUCCESS;

	if (__atomic_compare_exchange_n(&d->dead_result, &none, result, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		WRITE_ONCE(d->dead_call, call);
}

static int explain_dead(const struct cuda_dev *d)
{
	CUresult result = dead_result(d);
	const char *call;

	if (cuda_is_shut_down(result))
		return error_set(-EIO, "the CUDA driver has shut down, since "
				 "the process ends");
	if (cuda_is_reset(result))
		return error_set(-EOWNERDEAD, "the CUDA device was reset: its "
				 "memory is gone; close the space and open it "
				 "again");
	call = READ_ONCE(d->dead_call);
	return error_set(-EIO, "the CUDA driver cannot go on since %s: %s "
			 "(%d); end the process and start it again",
			 call ? call : "a call", cuda_error_name(result),
			 (int)result);
}

int cuda_health(void *dev)
{
	const struct cuda_dev *d = dev;

	return dead_result(d) ? explain_dead(d) : 0;
}

bool cuda_is_gone(const struct cuda_dev *d)
{
	CUresult result = dead_result(d);

	return cuda_is_reset(result) || cuda_is_shut_down(result);
}

/* ---- Results ---------------------------------------------------------- */

int cuda_check(struct cuda_dev *d, const char *call, CUresult result)
{
	if (result == CUDA_SUCCESS)
		return 0;
	if (cuda_is_sticky(result))
		die(d, call, result);
	if (cuda_is_reset(result) || cuda_is_shut_down(result)) {
		die(d, call, result);
		return explain_dead(d);
	}
	return error_set(cuda_errno(result), "%s: %s (%d)", call,
			 cuda_error_name(result), (int)result);
}

int cuda_check_free(struct cuda_dev *d, const char *call, CUresult result)
{
	int err = cuda_check(d, call, result);

	return err && cuda_is_gone(d) ? 0 : err;
}

/* ---- The context ------------------------------------------------------ */

/* Is it still the context that was retained? */
static CUresult compare_id(const struct cuda_dev *d)
{
	unsigned long long id = 0;
	CUresult result;

	if (!d->ctx_id)
		return CUDA_SUCCESS;
	result = d->drv->cuCtxGetId(d->ctx, &id);
	if (!result && id != d->ctx_id)
		result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return result;
}

static int push(struct cuda_dev *d)
{
	CUresult result = compare_id(d);
	const char *call = "cuCtxGetId";

	if (!result) {
		result = d->drv->cuCtxPushCurrent(d->ctx);
		call = "cuCtxPushCurrent";
	}
	/* It was retained, so it was valid once. */
	if (result == CUDA_ERROR_INVALID_CONTEXT)
		result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return cuda_check(d, call, result);
}

static void restore_mode(const struct cuda_dev *d,
			 const struct cuda_scope *scope)
{
	CUstreamCaptureMode mode = scope->mode;

	/* Nobody could be told; what fails once may not fail again. */
	if (d->drv->cuThreadExchangeStreamCaptureMode(&mode))
		(void)d->drv->cuThreadExchangeStreamCaptureMode(&mode);
	(void)pthread_setcancelstate(scope->cancel_state, NULL);
}

int cuda_enter(struct cuda_dev *d, struct cuda_scope *scope)
{
	int err;

	if (dead_result(d))
		return explain_dead(d);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE,
				     &scope->cancel_state);
	scope->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	err = CUDA_CALL(d, cuThreadExchangeStreamCaptureMode, &scope->mode);
	if (err) {
		(void)pthread_setcancelstate(scope->cancel_state, NULL);
		return err;
	}
	err = push(d);
	if (err)
		restore_mode(d, scope);
	return err;
}

void cuda_leave(struct cuda_dev *d, const struct cuda_scope *scope)
{
	CUcontext ctx;

	if (d->drv->cuCtxPopCurrent(&ctx))
		(void)d->drv->cuCtxPopCurrent(&ctx);
	restore_mode(d, scope);
}
