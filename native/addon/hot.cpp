#include "hot.h"

#include <cstring>

#include "environment.h"
#include "errors.h"

namespace dxtensor::addon {

namespace {

constexpr size_t kMaxArguments = 18;

uint32_t Number(napi_env env, napi_value value, const char* what) {
  uint32_t number;
  if (napi_get_value_uint32(env, value, &number) != napi_ok) Invalid(std::string(what) + ": expected a number");
  return number;
}

struct Numbers {
  double* data;
  size_t length;
};

Numbers Floats(napi_env env, napi_value value, const char* what) {
  napi_typedarray_type type;
  Numbers numbers;
  void* data;
  if (napi_get_typedarray_info(env, value, &type, &numbers.length, &data, nullptr, nullptr) != napi_ok || type != napi_float64_array)
    Invalid(std::string(what) + ": expected a Float64Array");
  numbers.data = static_cast<double*>(data);
  return numbers;
}

Handle HandleOf(double number) {
  if (!(number >= 0 && number <= 9007199254740992.0)) Invalid("expected a handle, received " + std::to_string(number));
  return static_cast<Handle>(number);
}

// JavaScript has small integers apart from others, and quick ways to them.
Handle HandleOf(napi_env env, napi_value value, const char* what) {
  int64_t number;
  if (napi_get_value_int64(env, value, &number) != napi_ok) Invalid(std::string(what) + ": expected a number");
  return static_cast<Handle>(number);
}

napi_value NewHandle(napi_env env, Handle handle) {
  napi_value value;
  if (handle <= INT32_MAX) napi_create_int32(env, static_cast<int32_t>(handle), &value);
  else napi_create_double(env, static_cast<double>(handle), &value);
  return value;
}

uint64_t BytesOf(double number) {
  if (!(number >= 0 && number <= 9007199254740992.0)) Invalid("expected an offset or size in bytes, received " + std::to_string(number));
  return static_cast<uint64_t>(number);
}

// Addresses of a program's slots while a call is prepared; what was allocated for it is freed again when the call fails.
class Call {
 public:
  Call(Environment& environment, const OpenProgram& open) : environment_(environment), device_(*open.device), program_(*open.program) {
    addresses_.assign(program_.slot_count, 0);
  }
  ~Call() {
    for (uint32_t block : temporary_) device_.device->pool().Free(block);
    if (done_) return;
    for (Handle handle : created_) environment_.buffers().Release(handle);
  }

  uint64_t SizeOf(size_t slot) const {
    size_t inputs = program_.input_sizes.size(), outputs = program_.output_sizes.size();
    if (slot < inputs) return program_.input_sizes[slot];
    return slot < inputs + outputs ? program_.output_sizes[slot - inputs] : program_.scratch;
  }
  void Give(size_t slot, Handle handle, uint64_t offset) {
    Buffer& buffer = environment_.buffers().Get(handle);
    if (buffer.device != &device_) Refuse(slot, "is on another device");
    if (offset > buffer.capacity || SizeOf(slot) > buffer.capacity - offset)
      Refuse(slot, "needs " + std::to_string(SizeOf(slot)) + " bytes, and the buffer has " + std::to_string(buffer.size) + " with offset " +
                       std::to_string(offset));
    if (offset % 16 && program_.bound_slots[slot]) Refuse(slot, "has offset " + std::to_string(offset) + ", which is no multiple of 16");
    addresses_[slot] = buffer.address + offset;
  }
  Handle Create(size_t slot, napi_value owner) {
    Handle handle = environment_.buffers().Create(device_, SizeOf(slot), owner);
    created_.push_back(handle);
    addresses_[slot] = environment_.buffers().Get(handle).address;
    return handle;
  }
  void CreateScratch() {
    if (!program_.scratch) return;
    uint32_t block = device_.device->pool().Allocate(program_.scratch);
    temporary_.push_back(block);
    addresses_[program_.scratch_slot()] = device_.device->pool().AddressOf(block);
  }
  void Run() {
    device_.device->Run(program_, addresses_.data());
    done_ = true;
  }
  std::vector<dml::Address>& addresses() { return addresses_; }

 private:
  [[noreturn]] void Refuse(size_t slot, const std::string& why) const {
    Invalid("program '" + program_.name + "': slot " + std::to_string(slot) + " " + why);
  }

  Environment& environment_;
  OpenDevice& device_;
  dml::Program& program_;
  std::vector<dml::Address> addresses_;
  std::vector<Handle> created_;
  std::vector<uint32_t> temporary_;
  bool done_ = false;
};

// A getter may run, and do anything: close the device, release what the call uses, detach its arrays. So owners are read before all else.
napi_value Element(napi_env env, napi_value array, size_t index) {
  napi_value value = nullptr;
  napi_status status = napi_get_element(env, array, static_cast<uint32_t>(index), &value);
  if (status == napi_object_expected) Invalid("owners: expected an array");
  js::Check(env, status);
  return value;
}

// The common case without a detour: one output, inputs at their start, few slots.
napi_value RunSimple(napi_env env, Environment& environment, const OpenProgram& open, napi_value owner, const napi_value* inputs,
                     size_t count) {
  dml::Program& program = *open.program;
  OpenDevice& device = *open.device;
  dml::Address slots[dml::Task::kSlots];
  if (program.input_sizes.size() != count || program.output_sizes.size() != 1)
    Invalid("run: program '" + program.name + "' has " + std::to_string(program.input_sizes.size()) + " inputs and " +
            std::to_string(program.output_sizes.size()) + " outputs; run needs one output and received " + std::to_string(count) +
            " inputs");
  device.device->CheckAlive();
  for (size_t i = 0; i < count; ++i) {
    const Buffer& buffer = environment.buffers().Get(HandleOf(env, inputs[i], "run: handle"));
    if (buffer.device != &device) Invalid("program '" + program.name + "': slot " + std::to_string(i) + " is on another device");
    if (buffer.capacity < program.input_sizes[i])
      Invalid("program '" + program.name + "': slot " + std::to_string(i) + " needs " + std::to_string(program.input_sizes[i]) +
              " bytes, and the buffer has " + std::to_string(buffer.size));
    slots[i] = buffer.address;
  }
  dml::HeapPool& pool = device.device->pool();
  Handle output = environment.buffers().Create(device, program.output_sizes[0], owner);
  slots[count] = environment.buffers().Find(output)->address;
  uint32_t scratch = UINT32_MAX;
  slots[count + 1] = 0;
  try {
    if (program.scratch) {
      scratch = pool.Allocate(program.scratch);
      slots[count + 1] = pool.AddressOf(scratch);
    }
    device.device->Run(program, slots);
  } catch (...) {
    if (scratch != UINT32_MAX) pool.Free(scratch);
    environment.buffers().Release(output);
    throw;
  }
  if (scratch != UINT32_MAX) pool.Free(scratch);
  return NewHandle(env, output);
}

}  // namespace

napi_value RunProgram(napi_env env, napi_callback_info info) {
  size_t count = kMaxArguments;
  napi_value arguments[kMaxArguments];
  void* data;
  napi_get_cb_info(env, info, &count, arguments, nullptr, &data);
  return Guarded(env, [&]() -> napi_value {
    if (count < 2 || count > kMaxArguments) Invalid("run: expected a program, an owner and at most 16 handles; use execute for more");
    auto& environment = *static_cast<Environment*>(data);
    const OpenProgram& open = environment.GetProgram(HandleOf(env, arguments[0], "run: program"));
    if (open.program->slot_count <= dml::Task::kSlots) return RunSimple(env, environment, open, arguments[1], arguments + 2, count - 2);
    if (open.program->input_sizes.size() != count - 2 || open.program->output_sizes.size() != 1)
      Invalid("run: program '" + open.program->name + "' needs " + std::to_string(open.program->input_sizes.size()) + " inputs, received " +
              std::to_string(count - 2));
    open.device->device->CheckAlive();
    Call call(environment, open);
    for (size_t i = 2; i < count; ++i) call.Give(i - 2, HandleOf(env, arguments[i], "run: handle"), 0);
    Handle output = call.Create(count - 2, arguments[1]);
    call.CreateScratch();
    call.Run();
    return NewHandle(env, output);
  });
}

napi_value ExecuteProgram(napi_env env, napi_callback_info info) {
  size_t count = 3;
  napi_value arguments[3];
  void* data;
  napi_get_cb_info(env, info, &count, arguments, nullptr, &data);
  return Guarded(env, [&]() -> napi_value {
    auto& environment = *static_cast<Environment*>(data);
    const Handle named = HandleOf(env, arguments[0], "execute: program");
    const size_t inputs = environment.GetProgram(named).program->input_sizes.size();
    const size_t outputs = environment.GetProgram(named).program->output_sizes.size();
    Numbers slots;
    auto look = [&] {
      slots = Floats(env, arguments[1], "execute: slots");
      if (slots.length < 2 * (inputs + outputs + 1))
        Invalid("execute: program '" + environment.GetProgram(named).program->name + "' needs " +
                std::to_string(2 * (inputs + outputs + 1)) + " numbers for its slots, received " + std::to_string(slots.length));
    };
    look();
    std::vector<napi_value> owners(outputs, nullptr);
    for (size_t i = 0; i < outputs; ++i)
      if (slots.data[2 * (inputs + i)] == 0) {
        owners[i] = Element(env, arguments[2], i);
        look();
      }
    const OpenProgram& open = environment.GetProgram(named);
    open.device->device->CheckAlive();
    Call call(environment, open);
    auto handle = [&](size_t slot) { return HandleOf(slots.data[2 * slot]); };
    auto give = [&](size_t slot) { call.Give(slot, handle(slot), BytesOf(slots.data[2 * slot + 1])); };
    for (size_t i = 0; i < inputs; ++i) give(i);
    std::vector<Handle> created(outputs, 0);
    for (size_t i = 0; i < outputs; ++i) {
      if (handle(inputs + i)) give(inputs + i);
      else created[i] = call.Create(inputs + i, owners[i]);
    }
    if (handle(inputs + outputs)) give(inputs + outputs);
    else call.CreateScratch();
    call.Run();
    for (size_t i = 0; i < outputs; ++i)
      if (created[i]) {
        slots.data[2 * (inputs + i)] = static_cast<double>(created[i]);
        slots.data[2 * (inputs + i) + 1] = 0;
      }
    return nullptr;
  });
}

napi_value RecordProgram(napi_env env, napi_callback_info info) {
  size_t count = 4;
  napi_value arguments[4];
  void* data;
  napi_get_cb_info(env, info, &count, arguments, nullptr, &data);
  return Guarded(env, [&]() -> napi_value {
    auto& environment = *static_cast<Environment*>(data);
    const OpenProgram& open = environment.GetProgram(HandleOf(env, arguments[0], "record: program"));
    std::vector<uint32_t> cuts;
    napi_valuetype kind = napi_undefined;
    if (count > 3) napi_typeof(env, arguments[3], &kind);
    if (kind != napi_undefined) {
      Numbers numbers = Floats(env, arguments[3], "record: cuts");
      for (size_t i = 0; i < numbers.length; ++i) {
        const double min = cuts.empty() ? 1 : cuts.back() + 1.0, groups = static_cast<double>(open.program->groups.size());
        if (!(numbers.data[i] >= min && numbers.data[i] < groups)) Invalid("record: cuts are ascending numbers of groups, less than all");
        cuts.push_back(static_cast<uint32_t>(numbers.data[i]));
      }
    }
    Numbers slots = Floats(env, arguments[1], "record: slots");
    uint32_t lists = Number(env, arguments[2], "record: lists");
    if (lists < 1 || lists > 16) Invalid("record: expected 1 to 16 lists, received " + std::to_string(lists));
    size_t slot_count = open.program->input_sizes.size() + open.program->output_sizes.size() + 1;
    if (slots.length < 2 * slot_count) Invalid("record: program '" + open.program->name + "' has " + std::to_string(slot_count) + " slots");
    Call call(environment, open);
    for (size_t i = 0; i < slot_count; ++i) {
      bool is_scratch = i + 1 == slot_count;
      auto handle = HandleOf(slots.data[2 * i]);
      if (is_scratch && !handle && !open.program->scratch) continue;
      call.Give(i, handle, BytesOf(slots.data[2 * i + 1]));
    }
    dml::Recording* recording = open.device->device->Record(*open.program, call.addresses(), lists, cuts);
    return NewHandle(env, environment.AddRecording(*open.device, recording));
  });
}

napi_value ReplayRecording(napi_env env, napi_callback_info info) {
  size_t count = 5;
  napi_value arguments[5];
  void* data;
  napi_get_cb_info(env, info, &count, arguments, nullptr, &data);
  return Guarded(env, [&]() -> napi_value {
    auto& environment = *static_cast<Environment*>(data);
    const Handle named = HandleOf(env, arguments[0], "replay: recording");
    environment.GetRecording(named).device->device->CheckAlive();
    Numbers outputs = Floats(env, arguments[2], "replay: outputs");
    const size_t output_count = outputs.length / 3;
    std::vector<napi_value> owners;
    for (size_t i = 0; i < output_count; ++i) owners.push_back(Element(env, arguments[3], i));
    const OpenRecording& open = environment.GetRecording(named);
    open.device->device->CheckAlive();
    if (output_count) outputs = Floats(env, arguments[2], "replay: outputs");
    Numbers inputs = Floats(env, arguments[1], "replay: inputs"), results = Floats(env, arguments[4], "replay: results");
    if (inputs.length % 5 || outputs.length % 3 || outputs.length / 3 != output_count)
      Invalid("replay: inputs have 5 numbers each, outputs 3");
    if (results.length < output_count) Invalid("replay: results is too short");
    auto range = [&](const double* numbers, uint64_t size) {
      Buffer& buffer = environment.buffers().Get(HandleOf(numbers[0]));
      uint64_t offset = BytesOf(numbers[1]);
      if (buffer.device != open.device) Invalid("replay: a buffer is on another device");
      if (offset > buffer.capacity || size > buffer.capacity - offset)
        Invalid("replay: a range lies outside its buffer of " + std::to_string(buffer.size) + " bytes");
      return buffer.address + offset;
    };
    auto work = std::make_unique<dml::ReplayWork>();
    for (const double* n = inputs.data; n != inputs.data + inputs.length; n += 5) {
      uint64_t size = BytesOf(n[4]);
      dml::CopyRange copy = {range(n, size), range(n + 2, size), size};
      if (copy.size && copy.from != copy.to) work->before.push_back(copy);
    }
    std::vector<Handle> created;
    try {
      for (size_t i = 0; i < output_count; ++i) {
        const double* n = outputs.data + 3 * i;
        uint64_t size = BytesOf(n[2]);
        dml::Address from = range(n, size);
        created.push_back(environment.buffers().Create(*open.device, size, owners[i]));
        if (size) work->after.push_back({from, environment.buffers().Get(created.back()).address, size});
      }
      open.device->device->Replay(*open.recording, std::move(work));
    } catch (...) {
      for (Handle handle : created) environment.buffers().Release(handle);
      throw;
    }
    for (size_t i = 0; i < output_count; ++i) results.data[i] = static_cast<double>(created[i]);
    return nullptr;
  });
}

napi_value Exchange(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  void* data;
  napi_get_cb_info(env, info, &count, &argument, nullptr, &data);
  return Guarded(env, [&]() -> napi_value {
    auto& environment = *static_cast<Environment*>(data);
    constexpr size_t kNumbers = 8;
    Numbers numbers = Floats(env, argument, "exchange: shipments");
    if (numbers.length % kNumbers) Invalid("exchange: shipments have 8 numbers each");
    std::vector<dml::Device::Shipment> shipments;
    for (const double* n = numbers.data; n != numbers.data + numbers.length; n += kNumbers) {
      Buffer &from = environment.buffers().Get(HandleOf(n[0])), &to = environment.buffers().Get(HandleOf(n[2]));
      if (from.device == to.device) Invalid("exchange: both buffers are on one device");
      const uint64_t size = BytesOf(n[4]);
      auto address = [&](const Buffer& buffer, double at) {
        const uint64_t offset = BytesOf(at);
        if (offset > buffer.size || size > buffer.size - offset)
          Invalid("exchange: a range lies outside its buffer of " + std::to_string(buffer.size) + " bytes");
        return buffer.address + offset;
      };
      auto recording = [&](double number, const Buffer& buffer) -> const dml::Recording* {
        const Handle handle = HandleOf(number);
        if (!handle) return nullptr;
        const OpenRecording& open = environment.GetRecording(handle);
        if (open.device != buffer.device) Invalid("exchange: a recording is on another device");
        return open.recording;
      };
      dml::Device::Shipment shipment{};
      shipment.sender = from.device->device.get();
      shipment.receiver = to.device->device.get();
      shipment.from = address(from, n[1]);
      shipment.to = address(to, n[3]);
      shipment.size = size;
      shipment.maker = recording(n[5], from);
      const uint64_t part = BytesOf(n[6]);
      if (shipment.maker && part >= shipment.maker->parts()) Invalid("exchange: the recording has fewer parts");
      shipment.part = static_cast<uint32_t>(part);
      shipment.free_before = recording(n[7], to);
      if (size) shipments.push_back(shipment);
    }
    dml::Device::Exchange(shipments);
    return nullptr;
  });
}

napi_value ReleaseBuffer(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument;
  void* data;
  napi_get_cb_info(env, info, &count, &argument, nullptr, &data);
  return Guarded(env, [&]() -> napi_value {
    static_cast<Environment*>(data)->buffers().Release(HandleOf(env, argument, "release: handle"));
    return nullptr;
  });
}

}  // namespace dxtensor::addon
