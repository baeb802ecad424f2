/*
 * The C ABI for native backends of dxtensor, version 1. A shared library exports the three functions at the end;
 * dx.backend.loadLibrary(path) opens it and registers its devices. docs/write-a-backend.md has an example.
 *
 * Errors: each function returns a status. Nothing may be thrown across this interface, and no function may end the process. After a status
 * other than DXTENSOR_OK, dxtensor_backend_last_error() gives the text of the calling thread's failure.
 *
 * Threads: a device is used by the thread that opened it, one call at a time. Several threads (worker threads of Node.js) may open devices
 * of one library, and call it at the same time for different devices; each open() gives a device with memory and a queue of its own.
 * dxtensor_backend_initialise() runs once in a process, before every other function of the table. The library is never unloaded, and a
 * process may end without close().
 *
 * Order: a device's work behaves as if it ran in the order of the calls. write, copy, free and run may queue work and return; read and
 * synchronize wait for it. A failure of queued work is reported by a later call.
 *
 * Growth: each struct starts with its size in bytes. Who fills a struct sets struct_size to the size that it knows; who reads one reads no
 * member beyond struct_size. New members are added at the end only. DXTENSOR_BACKEND_ABI changes when that is not enough.
 */
#ifndef DXTENSOR_BACKEND_H
#define DXTENSOR_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. */
#define DXTENSOR_BACKEND_ABI 1u

#ifdef _WIN32
#define DXTENSOR_EXPORT __declspec(dllexport)
#else
#define DXTENSOR_EXPORT __attribute__((visibility("default")))
#endif

typedef enum dxtensor_status {
  DXTENSOR_OK = 0,
  DXTENSOR_INTERNAL = 1,      /* NativeError */
  DXTENSOR_OUT_OF_MEMORY = 2, /* OutOfMemoryError; garbage is collected and the call tried once more */
  DXTENSOR_REMOVED = 3,       /* DeviceRemovedError: the device and its memory are lost */
  DXTENSOR_TIMEOUT = 4,       /* DeviceTimeoutError */
  DXTENSOR_UNSUPPORTED = 5,   /* of supports(): no error, the operation falls back */
  DXTENSOR_STATUS_INT32 = 0x7fffffff
} dxtensor_status;

/* bool is a byte, 0 or 1. Operators of DirectML see bool as uint8 and bfloat16 as uint16. */
typedef enum dxtensor_dtype {
  DXTENSOR_FLOAT32 = 1,
  DXTENSOR_FLOAT16 = 2,
  DXTENSOR_UINT32 = 3,
  DXTENSOR_UINT16 = 4,
  DXTENSOR_UINT8 = 5,
  DXTENSOR_INT32 = 6,
  DXTENSOR_INT16 = 7,
  DXTENSOR_INT8 = 8,
  DXTENSOR_FLOAT64 = 9,
  DXTENSOR_UINT64 = 10,
  DXTENSOR_INT64 = 11,
  DXTENSOR_BOOL = 12,
  DXTENSOR_BFLOAT16 = 13,
  DXTENSOR_DTYPE_INT32 = 0x7fffffff
} dxtensor_dtype;

/* The library's own. dxtensor looks at neither. */
typedef struct dxtensor_device dxtensor_device;
typedef struct dxtensor_memory dxtensor_memory;

/* A device before it is opened. Texts are UTF-8, and stay valid for the life of the process. */
typedef struct dxtensor_device_info {
  uint32_t struct_size;
  uint32_t is_hardware;          /* 0: a simulation, or it runs on the CPU */
  const char* name;              /* for people */
  uint64_t memory_in_bytes;      /* 0: it has no memory of its own */
  const dxtensor_dtype* dtypes;  /* in which its kernels compute; memory may hold any dtype */
  const char* const* operations; /* DirectML's operators ("GEMM") and dxtensor's operations ("softmax") that it has kernels for */
  uint32_t dtype_count;
  uint32_t operation_count;
} dxtensor_device_info;

typedef struct dxtensor_memory_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t held_in_bytes;  /* free blocks that are kept included */
  uint64_t limit_in_bytes; /* what the device has */
} dxtensor_memory_info;

/* A tensor of rank 1 to 8. The first element is at `offset` of `memory`; strides are in elements, 0 along a broadcast axis. */
typedef struct dxtensor_tensor {
  uint32_t struct_size;
  dxtensor_dtype dtype;
  uint32_t rank;
  uint32_t reserved;
  const uint64_t* sizes;
  const int64_t* strides;
  dxtensor_memory* memory; /* NULL in supports() */
  uint64_t offset;         /* in bytes, a multiple of 16 */
  uint64_t size_in_bytes;  /* from the offset to behind the last element, or more */
} dxtensor_tensor;

typedef enum dxtensor_attribute_kind {
  DXTENSOR_ATTRIBUTE_INTEGER = 1, /* `integer`: 64-bit integers, and booleans as 0 or 1 */
  DXTENSOR_ATTRIBUTE_NUMBER = 2,  /* `numbers[0]` */
  DXTENSOR_ATTRIBUTE_NUMBERS = 3, /* `numbers`, `count` of them */
  DXTENSOR_ATTRIBUTE_TEXT = 4,    /* `text`: names of enumerations, as "TRANSPOSE" */
  DXTENSOR_ATTRIBUTE_KIND_INT32 = 0x7fffffff
} dxtensor_attribute_kind;

typedef struct dxtensor_attribute {
  uint32_t struct_size;
  dxtensor_attribute_kind kind;
  const char* name;
  int64_t integer; /* uint64 scalars: the same bits */
  const double* numbers;
  const char* text;
  uint64_t count;
} dxtensor_attribute;

/*
 * One call. Attributes that are absent (null in BackendCall) are not in the list. A fused activation never comes: dxtensor calls the
 * activation as an operator of its own. What is behind the pointers is valid until the function returns.
 */
typedef struct dxtensor_operation {
  uint32_t struct_size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t attribute_count;
  const char* name;
  const dxtensor_tensor* const* inputs;  /* in the operator's order; NULL where an optional tensor is absent */
  const dxtensor_tensor* const* outputs; /* the same; an output may be an input's memory where DirectML computes in place */
  const dxtensor_attribute* const* attributes;
} dxtensor_operation;

/* The library's functions. All are required. */
typedef struct dxtensor_backend_api {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;    /* the type of its devices, "tiny" of "tiny:0": a lower-case letter, then lower-case letters, digits, "-", "_" */
  const char* version; /* of the library, for people */

  dxtensor_status (*device_count)(uint32_t* count);
  /* dxtensor sets info->struct_size; the library fills what that covers. */
  dxtensor_status (*device_info)(uint32_t index, dxtensor_device_info* info);
  dxtensor_status (*open)(uint32_t index, dxtensor_device** device);
  /* All memory has been freed before. */
  void (*close)(dxtensor_device* device);

  /* A multiple of 16 bytes, not initialised. */
  dxtensor_status (*allocate)(dxtensor_device* device, uint64_t size_in_bytes, dxtensor_memory** memory);
  void (*free)(dxtensor_device* device, dxtensor_memory* memory);
  /* `bytes` may change when write() has returned. */
  dxtensor_status (*write)(dxtensor_device* device, dxtensor_memory* memory, uint64_t offset, const void* bytes, uint64_t size);
  dxtensor_status (*read)(dxtensor_device* device, dxtensor_memory* memory, uint64_t offset, void* bytes, uint64_t size);
  /* The ranges do not overlap. */
  dxtensor_status (*copy)(dxtensor_device* device, dxtensor_memory* from, uint64_t from_offset, dxtensor_memory* to, uint64_t to_offset,
                          uint64_t size);

  /* Whether run() computes this operation. Asked once for each operation with its dtypes, sizes, strides and attributes. */
  dxtensor_status (*supports)(dxtensor_device* device, const dxtensor_operation* operation);
  dxtensor_status (*run)(dxtensor_device* device, const dxtensor_operation* operation);
  dxtensor_status (*synchronize)(dxtensor_device* device);
  dxtensor_status (*memory_info)(dxtensor_device* device, dxtensor_memory_info* info);
} dxtensor_backend_api;

/* DXTENSOR_BACKEND_ABI as it was when the library was compiled. Called before anything else. */
DXTENSOR_EXPORT uint32_t dxtensor_backend_abi_version(void);
/* Fills what api->struct_size covers, and sets api->struct_size to what it has filled. */
DXTENSOR_EXPORT dxtensor_status dxtensor_backend_initialise(dxtensor_backend_api* api);
/* The text of the calling thread's last failure, UTF-8; valid until its next call of the library. */
DXTENSOR_EXPORT const char* dxtensor_backend_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
