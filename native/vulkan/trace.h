// With DXTENSOR_VULKAN_TRACE set: prints a line on stderr for each feature that is requested and not supported. Any thread may call.
#ifndef DXTENSOR_VULKAN_TRACE_H
#define DXTENSOR_VULKAN_TRACE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

__attribute__((format(printf, 1, 2), unused)) static void trace(const char* format, ...) {
  const char* on = getenv("DXTENSOR_VULKAN_TRACE");
  va_list list;

  if (!on || !*on) return;
  va_start(list, format);
  fputs("dxtensor vulkan: ", stderr);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
}

// DXTENSOR_VULKAN_TRACE=calls: every call besides.
__attribute__((unused)) static bool traces_calls(void) {
  const char* on = getenv("DXTENSOR_VULKAN_TRACE");

  return on && !strcmp(on, "calls");
}

#define GUID_FORMAT "{%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x}"
#define GUID_ARGUMENTS(g)                                                                                                       \
  (g)->Data1, (g)->Data2, (g)->Data3, (g)->Data4[0], (g)->Data4[1], (g)->Data4[2], (g)->Data4[3], (g)->Data4[4], (g)->Data4[5], \
      (g)->Data4[6], (g)->Data4[7]

#endif
