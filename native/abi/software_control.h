// The private interface of the software adapter's ID3D12Device: faults on demand, and traits that Direct3D has no query for.
//
// The adapter's device answers QueryInterface for it; Microsoft's libraries say E_NOINTERFACE. Any thread may call it while it
// holds the device. GetPrivateData of a removed device gives the reason under kIidSoftware; under kIidCause there is something when it
// was removed for what was submitted to a queue, and of that queue as well.
#pragma once

#include "abi.h"

namespace dxtensor {

constexpr UINT kFaultRemoveDevice = 1;
constexpr UINT kFaultOutOfMemory = 2;  // at the next allocation
constexpr UINT kFaultHang = 3;         // the next submission and all after it on that queue are never done, until the device is removed

constexpr UINT kTraitFusesGraphs = 1u << 0;  // a compiled graph fuses its nodes

// {8f6d1c52-3a57-4c0e-9b1d-6e2a4d7c9f10}
constexpr GUID kIidSoftware = {0x8f6d1c52, 0x3a57, 0x4c0e, {0x9b, 0x1d, 0x6e, 0x2a, 0x4d, 0x7c, 0x9f, 0x10}};

// {8f6d1c52-3a57-4c0e-9b1d-6e2a4d7c9f11}
constexpr GUID kIidCause = {0x8f6d1c52, 0x3a57, 0x4c0e, {0x9b, 0x1d, 0x6e, 0x2a, 0x4d, 0x7c, 0x9f, 0x11}};

// {8f6d1c52-3a57-4c0e-9b1d-6e2a4d7c9f12}: why the device refused a pipeline last.
constexpr GUID kIidRefusal = {0x8f6d1c52, 0x3a57, 0x4c0e, {0x9b, 0x1d, 0x6e, 0x2a, 0x4d, 0x7c, 0x9f, 0x12}};

// {8f6d1c52-3a57-4c0e-9b1d-6e2a4d7c9f13}: of a compiled operator of the adapter, the kernels that it runs: a text with a line for each, in
// their order, "NANOSECONDS NODE,NODE,... NAME"; nodes by their indices in the graph's description. Setting it to a UINT that is not 0
// begins to take their times (the minimum of the runs since then), to 0 ends it.
constexpr GUID kIidKernels = {0x8f6d1c52, 0x3a57, 0x4c0e, {0x9b, 0x1d, 0x6e, 0x2a, 0x4d, 0x7c, 0x9f, 0x13}};

// {8f6d1c52-3a57-4c0e-9b1d-6e2a4d7c9f15}: set on a command queue of the adapter, with any data, it abandons the queue's work: what runs is
// left unfinished, what is submitted is not begun, and fences are signalled all the same, so that what the work used may go. For ever.
constexpr GUID kIidAbandon = {0x8f6d1c52, 0x3a57, 0x4c0e, {0x9b, 0x1d, 0x6e, 0x2a, 0x4d, 0x7c, 0x9f, 0x15}};

struct IDxtensorSoftware : public IUnknown {
  virtual HRESULT STDMETHODCALLTYPE InjectFault(UINT fault) = 0;
  virtual UINT STDMETHODCALLTYPE Traits() = 0;
  // Bytes of a buffer of this device, which the caller will read and write itself while no work uses them. They stay as long as the caller
  // holds `keeper`, which holds neither buffer nor device. Null where they are not within it.
  virtual void* STDMETHODCALLTYPE HostMemory(ID3D12Resource* buffer, UINT64 offset, UINT64 size, IUnknown** keeper) = 0;
};

// {8f6d1c52-3a57-4c0e-9b1d-6e2a4d7c9f14}: of the adapter's IDMLDevice1.
constexpr GUID kIidGraphs = {0x8f6d1c52, 0x3a57, 0x4c0e, {0x9b, 0x1d, 0x6e, 0x2a, 0x4d, 0x7c, 0x9f, 0x14}};

// A graph output that is bound to the bytes of a graph input, whose first is the output's byte Offset.
struct DxtensorOverwrite {
  UINT Output;
  UINT Input;
  UINT64 Offset;
};

// IDMLDevice1::CompileGraph, for graphs whose outputs lie over inputs: no output may be bound elsewhere. DirectML has no such graphs.
struct IDxtensorGraphs : public IUnknown {
  virtual HRESULT STDMETHODCALLTYPE CompileGraph(const DML_GRAPH_DESC* desc, DML_EXECUTION_FLAGS flags, const DxtensorOverwrite* overwrites,
                                                 UINT count, REFIID iid, void** out) = 0;
};

}  // namespace dxtensor
