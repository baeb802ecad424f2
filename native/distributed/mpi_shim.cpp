#include "mpi_shim.h"

#include <array>
#include <cstring>
#include <utility>

#include <mpi.h>

namespace dxtensor::distributed {
namespace {

constexpr int kDTypes = 13;
constexpr int kReductions = 4;

static_assert(sizeof(MPI_Comm) <= sizeof(MpiComm) && sizeof(MPI_Request) <= sizeof(MpiRequest));
static_assert(kMpiText >= MPI_MAX_LIBRARY_VERSION_STRING && kMpiText >= MPI_MAX_ERROR_STRING);

MpiReduce own_reduce = nullptr;
std::array<MPI_Op, kDTypes * kReductions> operations;

template <typename To, typename From>
To As(From from) {
  To to{};
  std::memcpy(&to, &from, sizeof(From) < sizeof(To) ? sizeof(From) : sizeof(To));
  return to;
}

MPI_Comm Comm(MpiComm comm) { return As<MPI_Comm>(comm); }

MPI_Datatype Unit(int unit) {
  switch (unit) {
    case 8: return MPI_UINT64_T;
    case 4: return MPI_UINT32_T;
    case 2: return MPI_UINT16_T;
    default: return MPI_UINT8_T;
  }
}

// MPI hands an operation no data of its own: one function for each.
template <int I>
void Combine(void* in, void* inout, int* elements, MPI_Datatype*) {
  own_reduce(I / kReductions, I % kReductions, in, inout, static_cast<size_t>(*elements));
}

template <int... I>
int CreateOperations(std::integer_sequence<int, I...>) {
  int code = MPI_SUCCESS;
  ((code = code == MPI_SUCCESS ? MPI_Op_create(Combine<I>, 1, &operations[I]) : code), ...);
  return code;
}

MPI_Op Operation(int dtype, int reduction) { return operations[dtype * kReductions + reduction]; }

// Calls MPI with a request of its own type.
template <typename Call>
int Requested(MpiRequest* request, Call call) {
  MPI_Request own = MPI_REQUEST_NULL;
  const int code = call(&own);
  *request = As<MpiRequest>(own);
  return code;
}

int LibraryVersion(char* text) {
  int length = 0;
  return MPI_Get_library_version(text, &length);
}

int Init(int* level, int* rank, int* size) {
  int is_ready = 0;
  int code = MPI_Initialized(&is_ready);
  if (code == MPI_SUCCESS) code = is_ready != 0 ? MPI_Query_thread(level) : MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, level);
  if (code != MPI_SUCCESS) return code;
  *level = *level == MPI_THREAD_SINGLE ? 0 : *level == MPI_THREAD_FUNNELED ? 1 : *level == MPI_THREAD_SERIALIZED ? 2 : 3;
  for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, size);
  if (code == MPI_SUCCESS) code = CreateOperations(std::make_integer_sequence<int, kDTypes * kReductions>());
  return code;
}

void ErrorText(int code, char* text) {
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) std::strcpy(text, "an error without a text");
}

int LargestTag() {
  int* largest = nullptr;
  int is_there = 0;
  return MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &is_there) == MPI_SUCCESS && is_there != 0 ? *largest : 32767;
}

int DuplicateWorld(MpiComm* comm) {
  MPI_Comm made = MPI_COMM_NULL;
  int code = MPI_Comm_dup(MPI_COMM_WORLD, &made);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  *comm = As<MpiComm>(made);
  return code;
}

int CreateComm(const int* ranks, int count, int tag, MpiComm* comm) {
  MPI_Group all, group;
  MPI_Comm made = MPI_COMM_NULL;
  int code = MPI_Comm_group(MPI_COMM_WORLD, &all);
  if (code != MPI_SUCCESS) return code;
  code = MPI_Group_incl(all, count, ranks, &group);
  if (code == MPI_SUCCESS) {
    code = MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &made);
    MPI_Group_free(&group);
  }
  MPI_Group_free(&all);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  *comm = As<MpiComm>(made);
  return code;
}

int FreeComm(MpiComm* comm) {
  MPI_Comm own = Comm(*comm);
  return MPI_Comm_free(&own);
}

int Test(MpiRequest* request, int* is_complete) {
  auto own = As<MPI_Request>(*request);
  const int code = MPI_Test(&own, is_complete, MPI_STATUS_IGNORE);
  *request = As<MpiRequest>(own);
  return code;
}

int Send(const void* data, int count, int unit, int to, int tag, MpiComm comm, MpiRequest* request) {
  return Requested(request, [&](MPI_Request* own) { return MPI_Isend(data, count, Unit(unit), to, tag, Comm(comm), own); });
}

int Receive(void* data, int count, int unit, int from, int tag, MpiComm comm, MpiRequest* request) {
  return Requested(request, [&](MPI_Request* own) { return MPI_Irecv(data, count, Unit(unit), from, tag, Comm(comm), own); });
}

int ReceiveFromAny(void* data, int count, int tag, MpiComm comm, MpiRequest* request) {
  return Receive(data, count, 1, MPI_ANY_SOURCE, tag, comm, request);
}

int Cancel(MpiRequest* request) {
  auto own = As<MPI_Request>(*request);
  const int code = MPI_Cancel(&own);
  return code == MPI_SUCCESS ? MPI_Wait(&own, MPI_STATUS_IGNORE) : code;
}

int Barrier(MpiComm comm, MpiRequest* request) {
  return Requested(request, [&](MPI_Request* own) { return MPI_Ibarrier(Comm(comm), own); });
}

int Broadcast(void* data, int count, int unit, int root, MpiComm comm, MpiRequest* request) {
  return Requested(request, [&](MPI_Request* own) { return MPI_Ibcast(data, count, Unit(unit), root, Comm(comm), own); });
}

int AllGather(const void* in, void* out, int count, int unit, MpiComm comm, MpiRequest* request) {
  return Requested(request,
                   [&](MPI_Request* own) { return MPI_Iallgather(in, count, Unit(unit), out, count, Unit(unit), Comm(comm), own); });
}

int AllToAll(const void* in, void* out, int count, int unit, MpiComm comm, MpiRequest* request) {
  return Requested(request,
                   [&](MPI_Request* own) { return MPI_Ialltoall(in, count, Unit(unit), out, count, Unit(unit), Comm(comm), own); });
}

int Gather(const void* in, void* out, int count, int unit, int root, MpiComm comm, MpiRequest* request) {
  return Requested(request,
                   [&](MPI_Request* own) { return MPI_Igather(in, count, Unit(unit), out, count, Unit(unit), root, Comm(comm), own); });
}

int Scatter(const void* in, void* out, int count, int unit, int root, MpiComm comm, MpiRequest* request) {
  return Requested(request,
                   [&](MPI_Request* own) { return MPI_Iscatter(in, count, Unit(unit), out, count, Unit(unit), root, Comm(comm), own); });
}

int AllReduce(void* data, int count, int unit, int dtype, int reduction, MpiComm comm, MpiRequest* request) {
  return Requested(request, [&](MPI_Request* own) {
    return MPI_Iallreduce(MPI_IN_PLACE, data, count, Unit(unit), Operation(dtype, reduction), Comm(comm), own);
  });
}

int ReduceTo(void* data, int count, int unit, int dtype, int reduction, int root, int is_root, MpiComm comm, MpiRequest* request) {
  return Requested(request, [&](MPI_Request* own) {
    return MPI_Ireduce(is_root != 0 ? MPI_IN_PLACE : data, is_root != 0 ? data : nullptr, count, Unit(unit), Operation(dtype, reduction),
                       root, Comm(comm), own);
  });
}

int ReduceScatter(const void* in, void* out, int count, int unit, int dtype, int reduction, MpiComm comm, MpiRequest* request) {
  return Requested(request, [&](MPI_Request* own) {
    return MPI_Ireduce_scatter_block(in, out, count, Unit(unit), Operation(dtype, reduction), Comm(comm), own);
  });
}

int Finalize() { return MPI_Finalize(); }

constexpr MpiFunctions kFunctions = {kMpiInterface,  LibraryVersion, Init,      Finalize,  ErrorText,    LargestTag,
                                     DuplicateWorld, CreateComm,     FreeComm,  Test,      Send,         Receive,
                                     ReceiveFromAny, Cancel,         Barrier,   Broadcast, AllGather,    AllToAll,
                                     Gather,         Scatter,        AllReduce, ReduceTo,  ReduceScatter};

}  // namespace
}  // namespace dxtensor::distributed

const dxtensor::distributed::MpiFunctions* dxtensor_mpi_functions(dxtensor::distributed::MpiReduce reduce) {
  dxtensor::distributed::own_reduce = reduce;
  return &dxtensor::distributed::kFunctions;
}
