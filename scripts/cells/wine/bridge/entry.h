/* The interface between the Windows half and the Linux half of the d3d12 bridge.
 * Pointers in both directions are functions of the Microsoft x64 calling
 * convention; the table is filled in one Wine "unix call" at load time. */
#ifndef DXTENSOR_BRIDGE_ENTRY_H
#define DXTENSOR_BRIDGE_ENTRY_H

#ifdef _WIN32
#define BRIDGE_ABI
#else
#define BRIDGE_ABI __attribute__((ms_abi))
#endif

struct bridge_entry {
  /* given by the Windows half */
  int(BRIDGE_ABI* set_event)(void* event);
  void*(BRIDGE_ABI* create_thread)(void* attr, unsigned long long stack, void* start, void* arg, unsigned int flags, unsigned int* id);
  unsigned(BRIDGE_ABI* wait)(void* handle, unsigned int ms);
  int(BRIDGE_ABI* close)(void* handle);

  /* submissions until the device is removed; 0: never */
  int remove_after;

  /* given back by the Linux half */
  int(BRIDGE_ABI* create_device)(unsigned int feature_level, unsigned int luid_low, int luid_high, const void* iid, void** out);
  int(BRIDGE_ABI* serialize)(const void* desc, int version, void** blob, void** errors);
  int(BRIDGE_ABI* serialize_versioned)(const void* desc, void** blob, void** errors);
  int(BRIDGE_ABI* create_deserializer)(const void* data, unsigned long long size, const void* iid, void** out);
  int(BRIDGE_ABI* create_versioned_deserializer)(const void* data, unsigned long long size, const void* iid, void** out);
};

#endif
