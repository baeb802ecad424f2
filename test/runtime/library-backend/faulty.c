/* A backend in C99 that fails as FAULT asks; its functions return RUN_STATUS and ALLOCATE_STATUS. */
#include <dxtensor_backend.h>
#include <stdlib.h>
#include <string.h>

#ifndef RUN_STATUS
#define RUN_STATUS DXTENSOR_OK
#endif
#ifndef ALLOCATE_STATUS
#define ALLOCATE_STATUS DXTENSOR_OK
#endif
#ifndef NAME
#define NAME "faulty"
#endif

struct dxtensor_device {
  int unused;
};
struct dxtensor_memory {
  char* bytes;
};

static const char* text = "";

static dxtensor_status fail(dxtensor_status status, const char* why) {
  text = why;
  return status;
}

static dxtensor_status device_count(uint32_t* count) {
  *count = 1;
  return DXTENSOR_OK;
}
static dxtensor_status device_info(uint32_t index, dxtensor_device_info* info) {
  static const dxtensor_dtype dtypes[] = {DXTENSOR_FLOAT32};
  static const char* const operations[] = {"ELEMENT_WISE_ADD"};
  (void)index;
  info->is_hardware = 0;
  info->name = "a device that fails";
  info->memory_in_bytes = 1024;
  info->dtypes = dtypes;
  info->dtype_count = 1;
  info->operations = operations;
  info->operation_count = 1;
  return DXTENSOR_OK;
}
static dxtensor_status open_device(uint32_t index, dxtensor_device** device) {
  (void)index;
#ifdef FAULT_OPEN
  *device = NULL;
  return fail(DXTENSOR_INTERNAL, "the device does not answer");
#else
  *device = malloc(sizeof **device);
  return DXTENSOR_OK;
#endif
}
static void close_device(dxtensor_device* device) { free(device); }
static dxtensor_status allocate(dxtensor_device* device, uint64_t size, dxtensor_memory** memory) {
  (void)device;
  if (ALLOCATE_STATUS != DXTENSOR_OK) return fail(ALLOCATE_STATUS, "no bytes left");
  *memory = malloc(sizeof **memory);
  (*memory)->bytes = calloc(1, (size_t)size);
  return DXTENSOR_OK;
}
static void free_memory(dxtensor_device* device, dxtensor_memory* memory) {
  (void)device;
  free(memory->bytes);
  free(memory);
}
static dxtensor_status write_bytes(dxtensor_device* device, dxtensor_memory* memory, uint64_t offset, const void* bytes, uint64_t size) {
  (void)device;
  memcpy(memory->bytes + offset, bytes, (size_t)size);
  return DXTENSOR_OK;
}
static dxtensor_status read_bytes(dxtensor_device* device, dxtensor_memory* memory, uint64_t offset, void* bytes, uint64_t size) {
  (void)device;
  memcpy(bytes, memory->bytes + offset, (size_t)size);
  return DXTENSOR_OK;
}
static dxtensor_status copy_bytes(dxtensor_device* device, dxtensor_memory* from, uint64_t from_offset, dxtensor_memory* to,
                                  uint64_t to_offset, uint64_t size) {
  return write_bytes(device, to, to_offset, from->bytes + from_offset, size);
}
static dxtensor_status supports(dxtensor_device* device, const dxtensor_operation* operation) {
  (void)device;
  return strcmp(operation->name, "ELEMENT_WISE_ADD") == 0 ? DXTENSOR_OK : DXTENSOR_UNSUPPORTED;
}
static dxtensor_status run(dxtensor_device* device, const dxtensor_operation* operation) {
  (void)device;
  (void)operation;
  return fail((dxtensor_status)RUN_STATUS, "the fan stopped");
}
static dxtensor_status synchronize(dxtensor_device* device) {
  (void)device;
  return DXTENSOR_OK;
}
static dxtensor_status memory_info(dxtensor_device* device, dxtensor_memory_info* info) {
  (void)device;
  info->held_in_bytes = 0;
  info->limit_in_bytes = 1024;
  return DXTENSOR_OK;
}

uint32_t dxtensor_backend_abi_version(void) {
#ifdef FAULT_VERSION
  return FAULT_VERSION;
#else
  return DXTENSOR_BACKEND_ABI;
#endif
}

#ifndef FAULT_SYMBOL
const char* dxtensor_backend_last_error(void) { return text; }
#endif

dxtensor_status dxtensor_backend_initialise(dxtensor_backend_api* api) {
  dxtensor_backend_api made = {sizeof made,  0,           NAME,        "9",         device_count, device_info, open_device,
                               close_device, allocate,    free_memory, write_bytes, read_bytes,   copy_bytes,  supports,
                               run,          synchronize, memory_info};
#ifdef FAULT_TABLE
  made.run = NULL;
#endif
#ifdef FAULT_SIZE
  made.struct_size = 64;
#endif
#ifdef FAULT_INITIALISE
  made.struct_size = 0;
#endif
  memcpy(api, &made, api->struct_size < sizeof made ? api->struct_size : sizeof made);
  return made.struct_size == 0 ? fail(DXTENSOR_INTERNAL, "no licence for this machine") : DXTENSOR_OK;
}
