// SPDX-License-Identifier: BSD-2-Clause
/*
 * module.c - modules and kernels.
 *
 * The model reads from a text of PTX what it must know to find and launch a
 * kernel: the version, the names of the entries, and the sizes of their
 * parameters. What a kernel does is a function of the test (model_kernel), or
 * nothing.
 */
#include <ctype.h>
#include <stdio.h>

#include "tests/model/internal.h"

#define NAME_MAX_BYTES 64
#define BODIES_MAX 32
#define PTX_NEWEST 90		/* that a driver of 13.0 takes: 9.0 */

struct module {
	struct list node;
	struct list functions;
	struct context *ctx;
	u64 handle;
};

struct function {
	struct list node;
	u64 handle;
	struct context *ctx;
	char name[NAME_MAX_BYTES];
	unsigned char sizes[KERNEL_PARAMS_MAX];
	size_t nr_params;
};

static struct list modules = LIST_INIT(modules);

static struct body {
	char name[NAME_MAX_BYTES];
	model_kernel_fn fn;
} bodies[BODIES_MAX];

/* ---- PTX ------------------------------------------------------------ */

static size_t word(const char *text, char *out)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_' ||
	       text[n] == '$')
		n++;
	snprintf(out, NAME_MAX_BYTES, "%.*s", (int)min(n, (size_t)63), text);
	return n;
}

/* The sizes of ".param .u64 a, .param .u32 b)". */
static void parse_params(struct function *f, const char *text)
{
	const char *end = strchr(text, ')');
	const char *at = text;

	while ((at = strstr(at, ".param")) && end && at < end &&
	       f->nr_params < KERNEL_PARAMS_MAX) {
		at = strchr(at + 1, '.');
		if (!at)
			return;
		f->sizes[f->nr_params++] = (unsigned char)
			(atoi(at + 2) / 8);
	}
}

static void parse_entry(struct module *module, const char *text)
{
	struct function *f = calloc(1, sizeof(*f));
	size_t n;

	if (!f)
		undefined(0, "the host has no memory for a function");
	n = word(text, f->name);
	f->ctx = module->ctx;
	f->handle = handle_new(HANDLE_FUNCTION, f);
	parse_params(f, text + n);
	list_add_tail(&f->node, &module->functions);
}

static CUresult check_ptx(const char *text)
{
	const char *version = strstr(text, ".version");
	int major = 0, minor = 0;

	REFUSE_IF(!version, 189, INVALID_PTX, "no PTX");
	if (!version)
		return CUDA_SUCCESS;
	sscanf(version, ".version %d.%d", &major, &minor);
	REFUSE_IF(10 * major + minor > PTX_NEWEST, 189,
		  UNSUPPORTED_PTX_VERSION, "PTX newer than the driver");
	return CUDA_SUCCESS;
}

/* ---- Modules -------------------------------------------------------- */

CUresult do_cuModuleLoadData(CUmodule *out, const void *image)
{
	const char *text = image;
	struct module *module;
	CUresult ret;

	REFUSE_IF(!out || !image, 0, INVALID_VALUE, "no place, or no image");
	ret = check_ptx(text);
	if (ret)
		return ret;
	module = calloc(1, sizeof(*module));
	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	list_init(&module->functions);
	module->ctx = context_current();
	module->handle = handle_new(HANDLE_MODULE, module);
	while ((text = strstr(text, ".entry "))) {
		text += strlen(".entry ");
		parse_entry(module, text);
	}
	list_add_tail(&module->node, &modules);
	*out = (CUmodule)module->handle;
	return CUDA_SUCCESS;
}

static void module_end(struct module *module)
{
	struct function *f;

	while (!list_empty(&module->functions)) {
		f = container_of(module->functions.next, struct function,
				 node);
		list_del(&f->node);
		handle_end(f->handle);
		free(f);
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
	struct function *f;
	struct list *node;

	REFUSE_IF(!out || !name, 0, INVALID_VALUE, "no place, or no name");
	REFUSE_IF(!module, 0, INVALID_HANDLE, "not a module");
	for (node = module->functions.next; node != &module->functions;
	     node = node->next) {
		f = container_of(node, struct function, node);
		if (strcmp(f->name, name))
			continue;
		*out = (CUfunction)f->handle;
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

static model_kernel_fn body_of(const struct function *f)
{
	size_t i;

	for (i = 0; i < BODIES_MAX && bodies[i].fn; i++)
		if (!strcmp(bodies[i].name, f->name))
			return bodies[i].fn;
	return NULL;
}

CUresult do_cuLaunchKernel(CUfunction handle, unsigned int grid_x,
			   unsigned int grid_y, unsigned int grid_z,
			   unsigned int block_x, unsigned int block_y,
			   unsigned int block_z, unsigned int shared_bytes,
			   CUstream where, void **params, void **extra)
{
	struct function *f = handle_find(HANDLE_FUNCTION, (u64)handle);
	u64 threads = (u64)block_x * block_y * block_z;
	struct stream *stream;
	CUresult ret;
	struct op *op;
	size_t i;

	REFUSE_IF(!f, 0, INVALID_HANDLE, "not a function");
	REFUSE_IF(params && extra, 191, INVALID_VALUE,
		  "parameters in both forms");
	REFUSE_IF(!grid_x || !grid_y || !grid_z || !threads ||
		  threads > 1024 || shared_bytes > 227 * KIB, 0,
		  INVALID_VALUE, "no such launch");
	stream = stream_find(where, &ret);
	if (!stream)
		return ret;
	REFUSE_IF(stream->ctx != f->ctx, 0, INVALID_HANDLE,
		  "function and stream are of different contexts");
	ret = capture_take(stream);
	if (ret)
		return ret;
	op = op_new(stream, OP_KERNEL);
	op->kernel = body_of(f);
	op->function = f->handle;
	for (i = 0; params && i < f->nr_params; i++)
		memcpy(&op->params[i], params[i], f->sizes[i]);
	op_submit(op);
	return CUDA_SUCCESS;
}
