// SPDX-License-Identifier: BSD-2-Clause
/*
 * module.c - modules and kernels.
 *
 * A module is a text of PTX, which ptx_parse() reads. What a kernel of it does
 * is a function of the test (model_kernel), or else its text.
 */
#include <stdio.h>

#include "tests/model/ptx.h"

#define NAME_MAX_BYTES 64
#define BODIES_MAX 32

struct module {
	struct list node;
	struct list kernels;
	u64 handle;
	struct context *ctx;
};

static struct list modules = LIST_INIT(modules);

static struct body {
	char name[NAME_MAX_BYTES];
	model_kernel_fn fn;
} bodies[BODIES_MAX];

/* ---- Modules -------------------------------------------------------- */

static void take_kernels(struct module *module)
{
	struct ptx_kernel *k;
	struct list *node;

	for (node = module->kernels.next; node != &module->kernels;
	     node = node->next) {
		k = container_of(node, struct ptx_kernel, node);
		k->ctx = module->ctx;
		k->handle = handle_new(HANDLE_FUNCTION, k);
	}
}

CUresult do_cuModuleLoadData(CUmodule *out, const void *image)
{
	struct module *module;
	char why[WHY_MAX];
	CUresult ret;

	REFUSE_IF(!out || !image, 0, INVALID_VALUE, "no place, or no image");
	module = calloc(1, sizeof(*module));
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	list_init(&module->kernels);
	module->ctx = context_current();
	ret = ptx_parse(image, module->ctx->device, &module->kernels, why);
	if (ret && !broken(189)) {
		free(module);
		return refuse(ret == CUDA_ERROR_NO_BINARY_FOR_GPU ? 235 : 189,
			      ret, why);
	}
	take_kernels(module);
	module->handle = handle_new(HANDLE_MODULE, module);
	list_add_tail(&module->node, &modules);
	*out = (CUmodule)module->handle;
	return CUDA_SUCCESS;
}

/* Work in flight keeps the text of its kernel. */
static void module_end(struct module *module)
{
	struct ptx_kernel *k;

	while (!list_empty(&module->kernels)) {
		k = container_of(module->kernels.next, struct ptx_kernel,
				 node);
		list_del(&k->node);
		handle_end(k->handle);
		ptx_put(k);
	}
	list_del(&module->node);
	handle_end(module->handle);
	free(module);
}

void modules_end_all(struct context *ctx)
{
	struct list *node, *next;
	struct module *module;

	for (node = modules.next; node != &modules; node = next) {
		next = node->next;
		module = container_of(node, struct module, node);
		if (module->ctx == ctx)
			module_end(module);
	}
}

CUresult do_cuModuleUnload(CUmodule handle)
{
	struct module *module = handle_find(HANDLE_MODULE, (u64)handle);

	REFUSE_IF(!module, 0, INVALID_HANDLE, "not a module");
	module_end(module);
	return CUDA_SUCCESS;
}

CUresult do_cuModuleGetFunction(CUfunction *out, CUmodule handle,
				const char *name)
{
	struct module *module = handle_find(HANDLE_MODULE, (u64)handle);
	struct ptx_kernel *k;
	struct list *node;

	REFUSE_IF(!out || !name, 0, INVALID_VALUE, "no place, or no name");
	REFUSE_IF(!module, 0, INVALID_HANDLE, "not a module");
	for (node = module->kernels.next; node != &module->kernels;
	     node = node->next) {
		k = container_of(node, struct ptx_kernel, node);
		if (strcmp(k->name, name))
			continue;
		*out = (CUfunction)k->handle;
		return CUDA_SUCCESS;
	}
	REFUSE_IF(true, 190, NOT_FOUND, "the module has no such function");
	return CUDA_SUCCESS;
}

/* ---- Launching ------------------------------------------------------ */

int model_kernel(const char *name, model_kernel_fn fn)
{
	size_t i;
	int ret = -1;

	pthread_mutex_lock(&model.lock);
	for (i = 0; i < BODIES_MAX && ret; i++) {
		if (bodies[i].fn && strcmp(bodies[i].name, name))
			continue;
		snprintf(bodies[i].name, NAME_MAX_BYTES, "%s", name);
		bodies[i].fn = fn;
		ret = 0;
	}
	pthread_mutex_unlock(&model.lock);
	return ret;
}

static model_kernel_fn body_of(const struct ptx_kernel *k)
{
	size_t i;

	for (i = 0; i < BODIES_MAX && bodies[i].fn; i++)
		if (!strcmp(bodies[i].name, k->name))
			return bodies[i].fn;
	return NULL;
}

/* Of the hardware, then of the kernel. */
static CUresult check_shape(const struct ptx_kernel *k, const u32 *grid,
			    const u32 *block, unsigned int shared_bytes)
{
	u64 threads = (u64)block[0] * block[1];

	threads = threads > 1024 ? threads : threads * block[2];
	REFUSE_IF(!grid[0] || !grid[1] || !grid[2] || grid[0] > INT32_MAX ||
		  grid[1] > 65535 || grid[2] > 65535, 0, INVALID_VALUE,
		  "no such grid");
	REFUSE_IF(!threads || threads > 1024 || block[2] > 64, 0,
		  INVALID_VALUE, "no such block");
	REFUSE_IF(shared_bytes > 227 * KIB, 0, INVALID_VALUE,
		  "too much shared memory");
	REFUSE_IF(!ptx_block_fits(k, block), 0, LAUNCH_OUT_OF_RESOURCES,
		  "not a block that the kernel was compiled for");
	return CUDA_SUCCESS;
}

static struct op *new_launch(struct ptx_kernel *k, struct stream *stream,
			     void **params)
{
	struct op *op = op_new(stream, OP_KERNEL);
	u32 i;

	op->kernel = body_of(k);
	op->text = ptx_get(k);
	op->function = k->handle;
	for (i = 0; params && i < k->nr_params; i++)
		memcpy(&op->params[i], params[i], k->param_bytes[i]);
	return op;
}

CUresult do_cuLaunchKernel(CUfunction handle, unsigned int grid_x,
			   unsigned int grid_y, unsigned int grid_z,
			   unsigned int block_x, unsigned int block_y,
			   unsigned int block_z, unsigned int shared_bytes,
			   CUstream where, void **params, void **extra)
{
	struct ptx_kernel *k = handle_find(HANDLE_FUNCTION, (u64)handle);
	const u32 grid[] = { grid_x, grid_y, grid_z };
	const u32 block[] = { block_x, block_y, block_z };
	struct stream *stream;
	CUresult ret;
	struct op *op;

	REFUSE_IF(!k, 0, INVALID_HANDLE, "not a function");
	REFUSE_IF(params && extra, 191, INVALID_VALUE,
		  "parameters in both forms");
	REFUSE_IF(extra, 0, NOT_SUPPORTED,
		  "the model has no parameters in a buffer");
	REFUSE_IF(k->nr_params && !params, 0, INVALID_VALUE,
		  "the kernel has parameters");
	ret = check_shape(k, grid, block, shared_bytes);
	if (ret)
		return ret;
	stream = stream_find(where, &ret);
	if (!stream)
		return ret;
	REFUSE_IF(stream->ctx != k->ctx, 0, INVALID_HANDLE,
		  "function and stream are of different contexts");
	ret = capture_take(stream);
	if (ret)
		return ret;
	op = new_launch(k, stream, params);
	memcpy(op->grid, grid, sizeof(grid));
	memcpy(op->block, block, sizeof(block));
	op_submit(op);
	return CUDA_SUCCESS;
}
