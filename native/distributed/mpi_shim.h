// What the engine calls of an MPI library. Types of MPI differ between libraries, so that a shim is compiled against the headers of each:
// Open MPI's, and those of the MPICH ABI (MPICH, Intel MPI, MVAPICH, Cray MPICH). A shim links no MPI: its names are those of the library
// that was loaded before, with global symbols. All functions but `library_version` are called by the thread that called `init`, and give 0
// or MPI's error code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dxtensor::distributed {

// MPI's own, in their bytes.
using MpiComm = uintptr_t;
using MpiRequest = uintptr_t;

constexpr int kMpiInterface = 1;

// inout[i] = in[i] o inout[i], by the numbers of DType and Reduction.
using MpiReduce = void (*)(int dtype, int reduction, const void* in, void* inout, size_t elements);

struct MpiFunctions {
  int interface_version;
  // `text` has a capacity of kMpiText bytes.
  int (*library_version)(char* text);
  // Gives the level of threads: 0 single, 1 funneled, 2 serialized, 3 multiple. Errors of MPI's calls are returned from then on.
  int (*init)(int* level, int* rank, int* size);
  int (*finalize)();
  void (*error_text)(int code, char* text);
  int (*largest_tag)();

  // Of all processes; all call it.
  int (*duplicate_world)(MpiComm* comm);
  // Of some of them; these call it, with one tag.
  int (*create_comm)(const int* ranks, int count, int tag, MpiComm* comm);
  int (*free_comm)(MpiComm* comm);

  // A request is complete when is_complete is not 0; then it is no more.
  int (*test)(MpiRequest* request, int* is_complete);
  // Bytes are sent as `count` units of 1, 2, 4 or 8 bytes.
  int (*send)(const void* data, int count, int unit, int to, int tag, MpiComm comm, MpiRequest* request);
  int (*receive)(void* data, int count, int unit, int from, int tag, MpiComm comm, MpiRequest* request);
  int (*receive_from_any)(void* data, int count, int tag, MpiComm comm, MpiRequest* request);
  int (*cancel)(MpiRequest* request);
  int (*barrier)(MpiComm comm, MpiRequest* request);
  int (*broadcast)(void* data, int count, int unit, int root, MpiComm comm, MpiRequest* request);
  int (*all_gather)(const void* in, void* out, int count, int unit, MpiComm comm, MpiRequest* request);
  int (*all_to_all)(const void* in, void* out, int count, int unit, MpiComm comm, MpiRequest* request);
  int (*gather)(const void* in, void* out, int count, int unit, int root, MpiComm comm, MpiRequest* request);
  int (*scatter)(const void* in, void* out, int count, int unit, int root, MpiComm comm, MpiRequest* request);
  // In place.
  int (*all_reduce)(void* data, int count, int unit, int dtype, int reduction, MpiComm comm, MpiRequest* request);
  int (*reduce)(void* data, int count, int unit, int dtype, int reduction, int root, int is_root, MpiComm comm, MpiRequest* request);
  int (*reduce_scatter)(const void* in, void* out, int count, int unit, int dtype, int reduction, MpiComm comm, MpiRequest* request);
};

constexpr size_t kMpiText = 8192;

}  // namespace dxtensor::distributed

extern "C" {
// A shim's one entry.
__attribute__((visibility("default"))) const dxtensor::distributed::MpiFunctions* dxtensor_mpi_functions(
    dxtensor::distributed::MpiReduce reduce);
}
