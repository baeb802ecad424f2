#include "decode.h"

#include <algorithm>
#include <map>

#include "block.h"
#include "container.h"
#include "opcode_tables.h"
#include "tokens.h"

namespace dxtensor::software::shader {

namespace {

constexpr uint32_t kComputeShader50 = 5u << 16 | 0x50;
constexpr uint32_t kMaxTemps = 4096, kMaxValues = 60000, kMaxUavs = 64, kMaxConstantWords = 4096 * 4;
constexpr uint32_t kDimensionBuffer = 1, kFourUnsignedWords = 0x4444;  // of a typed view
constexpr uint32_t kMaxThreads = 1024, kMaxThreadsOfZ = 64, kMaxSharedBytes = 32768;
constexpr uint32_t kSyncThreads = 1u << 11, kNonZero = 1u << 18, kSaturated = 1u << 13;

// Throws std::string, what is wrong.
class Decoder {
 public:
  std::shared_ptr<const Program> Decode(const void* container, size_t size) {
    std::string wrong;
    Chunk chunk = FindChunk(container, size, "SHEX", &wrong);
    if (wrong.empty() && !chunk.data) chunk = FindChunk(container, size, "SHDR", &wrong);
    if (wrong.empty() && !chunk.data) wrong = "the container holds no shader of model 5.0 (DXIL is not part of the software adapter)";
    if (!wrong.empty()) throw wrong;
    TokenReader all(chunk.data, static_cast<uint32_t>(chunk.size / 4));
    if (all.Word() != kComputeShader50) throw std::string("the shader is no compute shader of model 5.0");
    const uint32_t words = all.Word();
    if (words < 2) throw std::string("the shader states a length that it can't have");
    TokenReader tokens = all.Cut(words - 2);
    while (!tokens.done()) ReadInstruction(tokens);
    Finish();
    return std::make_shared<const Program>(std::move(program_));
  }

 private:
  struct Open {
    Op op;
    size_t at;  // of the last of If and Else, or of Loop
  };

  void ReadInstruction(TokenReader& tokens) {
    const uint32_t token = tokens.Word(), opcode = token & 0x7ff;
    name_ = OpcodeName(opcode);
    if (opcode == kCustomData) throw std::string("customdata (an immediate constant buffer) is not part of the software adapter");
    const uint32_t length = token >> 24 & 0x7f;
    if (!length) Malformed();
    TokenReader in = tokens.Cut(length - 1);
    for (uint32_t extended = token; extended >> 31;) extended = in.Word();
    if (!Declaration(opcode, token, in)) {
      RequireGroup();
      Statement(opcode, token, in);
    }
    if (!in.done()) Malformed();
  }

  void RequireGroup() {
    if (!group_declared_) throw std::string("the shader declares no thread group");
  }
  [[noreturn]] void Malformed() const { throw name_ + " is malformed"; }

  // --- declarations ---

  bool Declaration(uint32_t opcode, uint32_t token, TokenReader& in) {
    switch (opcode) {
      case kDclGlobalFlags: return true;
      case kDclTemps:
        temps_ = in.Word();
        if (temps_ > kMaxTemps) throw std::string("the shader declares more than 4096 temporary registers");
        return true;
      case kDclConstantBuffer: {
        const Operand buffer = in.ReadOperand();
        if (buffer.type != kConstantBuffer || buffer.dimensions != 2) Malformed();
        if (buffer.index[0] != 0) throw "constant buffer b" + std::to_string(buffer.index[0]) + " is not part of the software adapter";
        if (buffer.index[1] > kMaxConstantWords / 4) Malformed();
        program_.constants = buffer.index[1] * 4;
        return true;
      }
      case kDclInput: {
        const Operand input = in.ReadOperand();
        if (input.type < kInputThreadId || input.type > kInputFlatThreadIdInGroup || input.type == 35)
          throw std::string("dcl_input of another value than the thread's and the group's numbers is not part of the software adapter");
        return true;
      }
      case kDclThreadGroup: {
        uint64_t threads = 1;
        for (uint32_t& size : program_.group) {
          size = in.Word();
          if (!size || size > kMaxThreads) Malformed();
          threads *= size;
        }
        if (threads > kMaxThreads || program_.group[2] > kMaxThreadsOfZ) throw std::string("a thread group has more than 1024 threads");
        group_declared_ = true;
        return true;
      }
      case kDclUavTyped:
      case kDclUavRaw:
      case kDclUavStructured: {
        const Operand buffer = in.ReadOperand();
        if (buffer.type != kUav || buffer.dimensions != 1 || buffer.index[0] >= kMaxUavs) Malformed();
        Memory memory;
        memory.index = buffer.index[0];
        if (opcode == kDclUavStructured) memory.stride = Stride(in.Word());
        if (opcode == kDclUavTyped) {
          if ((token >> 11 & 31) != kDimensionBuffer || in.Word() != kFourUnsignedWords)
            throw std::string("typed views of other than four unsigned words are not part of the software adapter");
          memory.stride = kTexelBytes;
          memory.texels = true;
        }
        AddMemory(kUav, buffer.index[0], memory);
        return true;
      }
      case kDclTgsmRaw:
      case kDclTgsmStructured: {
        const Operand shared = in.ReadOperand();
        if (shared.type != kSharedMemory || shared.dimensions != 1) Malformed();
        Memory memory;
        memory.is_shared = true;
        if (opcode == kDclTgsmStructured) memory.stride = Stride(in.Word());
        const uint64_t size = uint64_t{in.Word()} * (memory.stride ? memory.stride : 1);
        if (size > kMaxSharedBytes - program_.shared_size) throw std::string("the shader declares more than 32 KiB of group-shared memory");
        memory.size = static_cast<uint32_t>(size);
        memory.offset = program_.shared_size;
        program_.shared_size += (memory.size + 15) / 16 * 16;
        if (program_.shared_size > kMaxSharedBytes) program_.shared_size = kMaxSharedBytes;
        AddMemory(kSharedMemory, shared.index[0], memory);
        return true;
      }
      default: return false;
    }
  }

  uint32_t Stride(uint32_t stride) const {
    if (!stride || stride % 4 || stride > 2048) Malformed();
    return stride;
  }

  void AddMemory(uint32_t type, uint32_t index, const Memory& memory) {
    if (program_.memories.size() >= 255 || !memories_.emplace(std::pair(type, index), program_.memories.size()).second)
      throw name_ + " declares a resource twice, or too many";
    program_.memories.push_back(memory);
  }

  // --- values ---

  uint16_t AddValue(Value::Kind kind, uint32_t index) {
    if (program_.values.size() >= kMaxValues) throw std::string("the shader uses too many values");
    program_.values.push_back({kind, index});
    return static_cast<uint16_t>(program_.values.size() - 1);
  }
  uint16_t ValueOf(Value::Kind kind, uint32_t index) {
    auto [found, is_new] = values_.emplace(std::pair(kind, index), uint16_t{0});
    if (is_new) found->second = AddValue(kind, index);
    return found->second;
  }
  uint16_t Immediate(uint32_t word) { return ValueOf(Value::Kind::Immediate, word); }
  uint16_t Temp(uint32_t index, uint32_t component) {
    if (index >= temps_) throw "register r" + std::to_string(index) + " is not declared";
    return ValueOf(Value::Kind::Register, index * 4 + component);
  }
  // Registers of our own, numbered from behind; each is free again after the instruction.
  uint16_t Scratch() { return ValueOf(Value::Kind::Register, UINT32_MAX - scratch_++); }

  uint16_t Source(const Operand& operand, uint32_t lane, char type) {
    const uint32_t component = operand.swizzle[lane];
    uint16_t value = 0;
    switch (operand.type) {
      case kTemp:
        if (operand.dimensions != 1) Malformed();
        value = Temp(operand.index[0], component);
        break;
      case kImmediate32: value = Immediate(operand.words[component]); break;
      case kConstantBuffer:
        if (operand.dimensions != 2 || operand.index[0] != 0) Malformed();
        if (operand.index[1] >= program_.constants / 4) throw "cb0[" + std::to_string(operand.index[1]) + "] is not declared";
        value = ValueOf(Value::Kind::Constant, operand.index[1] * 4 + component);
        break;
      case kInputThreadId: value = SystemValueOf(kThreadId, component); break;
      case kInputGroupId: value = SystemValueOf(kGroupId, component); break;
      case kInputThreadIdInGroup: value = SystemValueOf(kThreadIdInGroup, component); break;
      case kInputFlatThreadIdInGroup: value = ValueOf(Value::Kind::System, kFlatThreadIdInGroup); break;
      default: throw name_ + " reads an operand of type " + std::to_string(operand.type) + ", which is not part of the software adapter";
    }
    const bool is_float = type == 'f' || (type == 'm');
    if (operand.absolute) {
      if (!is_float) Malformed();
      value = Modified(Op::AbsF, value);
    }
    if (operand.negate) value = Modified(is_float ? Op::NegF : Op::NegI, value);
    return value;
  }
  uint16_t SystemValueOf(uint32_t first, uint32_t component) {
    return component < 3 ? ValueOf(Value::Kind::System, first + component) : Immediate(0);
  }
  uint16_t Modified(Op op, uint16_t value) {
    const uint16_t to = Scratch();
    Emit(op, to, {value});
    return to;
  }

  Instruction& Emit(Op op) {
    program_.instructions.emplace_back();
    program_.instructions.back().op = op;
    return program_.instructions.back();
  }
  void Emit(Op op, uint16_t to, std::initializer_list<uint16_t> from) {
    Instruction& made = Emit(op);
    made.d[0] = to;
    std::copy(from.begin(), from.end(), made.s);
  }

  // --- statements ---

  Operand Destination(TokenReader& in) {
    Operand to = in.ReadOperand();
    if (to.negate || to.absolute) Malformed();
    if (to.type == kNull) to.mask = 0;
    else if (to.type != kTemp || to.dimensions != 1) Malformed();
    return to;
  }

  // One scalar instruction for each component; through scratch where one would overwrite what a later one reads.
  void Components(const Operand* to, const Op* ops, size_t results, const Operand* from, size_t sources, char type, bool saturate) {
    struct Scalar {
      Op op;
      uint16_t to, from[4];
    };
    std::vector<Scalar> scalars;
    for (size_t r = 0; r < results; ++r)
      for (uint32_t lane = 0; lane < 4; ++lane) {
        if (!(to[r].mask >> lane & 1)) continue;
        Scalar one{ops[r], Temp(to[r].index[0], lane), {}};
        for (size_t s = 0; s < sources; ++s) one.from[s] = Source(from[s], lane, type == 'm' && s == 0 ? 'i' : type);
        scalars.push_back(one);
      }
    bool overlap = false;
    for (size_t i = 0; i < scalars.size(); ++i)
      for (size_t k = i + 1; k < scalars.size(); ++k)
        for (size_t s = 0; s < sources; ++s) overlap = overlap || scalars[k].from[s] == scalars[i].to;
    std::vector<uint16_t> made;
    for (const Scalar& one : scalars) {
      made.push_back(overlap ? Scratch() : one.to);
      Emit(one.op, made.back(), {one.from[0], one.from[1], one.from[2], one.from[3]});
    }
    for (size_t i = 0; i < scalars.size(); ++i) {
      if (saturate) Emit(Op::Saturate, scalars[i].to, {made[i]});
      else if (overlap) Emit(Op::Mov, scalars[i].to, {made[i]});
    }
  }

  uint8_t MemorySlot(const Operand& operand) const {
    auto found = memories_.find({operand.type, operand.index[0]});
    if (operand.dimensions != 1 || found == memories_.end()) throw name_ + " names a resource that is not declared";
    return static_cast<uint8_t>(found->second);
  }

  // The byte that a structure's element and offset stand for; beyond the last element, one that is outside.
  uint16_t ElementAddress(uint8_t slot, uint16_t element, uint16_t offset) {
    const Memory& memory = program_.memories[slot];
    const uint16_t count = memory.is_shared ? Immediate(memory.size / memory.stride) : ValueOf(Value::Kind::Elements, slot);
    const uint16_t to = Scratch(), stride = Immediate(memory.stride);
    Emit(Op::ElementAddress, to, {element, offset, stride, count});
    return to;
  }

  enum class Kind { Raw, Structured, Texels };

  void CheckKind(uint8_t slot, Kind kind) const {
    const Memory& memory = program_.memories[slot];
    if ((memory.texels ? Kind::Texels : memory.stride ? Kind::Structured : Kind::Raw) != kind)
      throw name_ + " names a resource of another kind";
  }

  // The byte of an access.
  uint16_t Address(uint8_t slot, Kind kind, const Operand& address, const Operand& offset) {
    const uint16_t at = Source(address, 0, 'i');
    if (kind == Kind::Raw) return at;
    return ElementAddress(slot, at, kind == Kind::Texels ? Immediate(0) : Source(offset, 0, 'i'));
  }

  void Load(Kind kind, TokenReader& in) {
    const Operand to = Destination(in), address = in.ReadOperand();
    const Operand offset = kind == Kind::Structured ? in.ReadOperand() : Operand{};
    const Operand from = in.ReadOperand();
    const uint8_t slot = MemorySlot(from);
    CheckKind(slot, kind);
    program_.memories[slot].read = true;
    const uint16_t at = Address(slot, kind, address, offset);
    if (!to.mask) return;
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < 4; ++lane)
      if (to.mask >> lane & 1) count = std::max(count, from.swizzle[lane] + 1u);
    // Straight into the registers where each component takes the word of its own index.
    bool straight = true;  // and none of them is where the address comes from
    for (uint32_t lane = 0; lane < 4; ++lane) {
      const bool wanted = to.mask >> lane & 1;
      straight = straight && (wanted ? from.swizzle[lane] == lane && Temp(to.index[0], lane) != at : lane >= count);
    }
    uint16_t words[4] = {};
    for (uint32_t i = 0; i < count; ++i) words[i] = straight ? Temp(to.index[0], i) : Scratch();
    Instruction& load = Emit(Op::Load);
    load.slot = slot;
    load.count = static_cast<uint8_t>(count);
    load.s[0] = at;
    std::copy(words, words + 4, load.d);
    if (straight) return;
    for (uint32_t lane = 0; lane < 4; ++lane)
      if (to.mask >> lane & 1) Emit(Op::Mov, Temp(to.index[0], lane), {words[from.swizzle[lane]]});
  }

  void Store(Kind kind, TokenReader& in) {
    const Operand to = in.ReadOperand(), address = in.ReadOperand();
    const Operand offset = kind == Kind::Structured ? in.ReadOperand() : Operand{};
    const Operand from = in.ReadOperand();
    const uint8_t slot = MemorySlot(to);
    CheckKind(slot, kind);
    program_.memories[slot].written = true;
    const uint16_t at = Address(slot, kind, address, offset);
    uint8_t count = 0;
    while (count < 4 && (to.mask >> count & 1)) ++count;
    if (!count || to.mask >> count || (kind == Kind::Texels && count != 4)) Malformed();
    uint16_t words[4] = {};
    for (uint32_t i = 0; i < count; ++i) words[i] = Source(from, i, 'f');
    Instruction& store = Emit(Op::Store);
    store.slot = slot;
    store.count = count;
    store.s[0] = at;
    std::copy(words, words + count, store.s + 1);
  }

  void Atomic(const AtomicOp& atomic, TokenReader& in) {
    Operand to;
    if (atomic.returns) {
      to = Destination(in);
      if (to.type == kNull || !to.mask || (to.mask & (to.mask - 1))) Malformed();
    }
    const Operand memory = in.ReadOperand(), address = in.ReadOperand();
    const uint8_t slot = MemorySlot(memory);
    if (program_.memories[slot].texels) throw name_ + " names a resource of another kind";
    program_.memories[slot].read = program_.memories[slot].written = true;
    uint16_t at = Source(address, 0, 'i');
    if (program_.memories[slot].stride) at = ElementAddress(slot, at, Source(address, 1, 'i'));
    uint16_t operands[2] = {};
    operands[0] = Source(in.ReadOperand(), 0, 'i');
    if (atomic.op == Op::AtomicCompareExchange) operands[1] = Source(in.ReadOperand(), 0, 'i');
    uint32_t lane = 0;
    while (atomic.returns && !(to.mask >> lane & 1)) ++lane;
    const uint16_t result = atomic.returns ? Temp(to.index[0], lane) : uint16_t{0};
    Instruction& made = Emit(atomic.op);
    made.slot = slot;
    made.count = atomic.returns;
    made.d[0] = result;
    made.s[0] = at;
    made.s[1] = operands[0];
    made.s[2] = operands[1];
  }

  void Condition(Op op, uint32_t token, TokenReader& in) {
    const uint16_t condition = Source(in.ReadOperand(), 0, 'i');
    Instruction& made = Emit(op);
    made.s[0] = condition;
    made.count = token & kNonZero ? 1 : 0;
  }

  uint8_t Level(bool loops) const {
    auto level = std::count_if(open_.begin(), open_.end(), [&](const Open& o) { return (o.op == Op::Loop) == loops; });
    if (level >= ptrdiff_t{kMaxLevels}) throw std::string("the shader nests deeper than 64 levels");
    return static_cast<uint8_t>(level);
  }

  void Flow(uint32_t opcode, uint32_t token, TokenReader& in) {
    const size_t at = program_.instructions.size();
    switch (opcode) {
      case kIf: {
        const uint8_t level = Level(false);
        Condition(Op::If, token, in);
        program_.instructions.back().level = level;
        // What the condition's modifiers made stands before it.
        open_.push_back({Op::If, program_.instructions.size() - 1});
        program_.if_levels = std::max<uint8_t>(program_.if_levels, static_cast<uint8_t>(level + 1));
        break;
      }
      case kElse: {
        if (open_.empty() || open_.back().op != Op::If) throw std::string("else without if");
        program_.instructions[open_.back().at].target = static_cast<uint32_t>(at);
        const uint8_t level = program_.instructions[open_.back().at].level;
        const uint16_t condition = program_.instructions[open_.back().at].s[0];
        open_.back() = {Op::Else, at};
        Instruction& made = Emit(Op::Else);
        made.level = level;
        made.s[0] = condition;
        break;
      }
      case kEndif: {
        if (open_.empty() || open_.back().op == Op::Loop) throw std::string("endif without if");
        program_.instructions[open_.back().at].target = static_cast<uint32_t>(at);
        const uint8_t level = program_.instructions[open_.back().at].level;
        open_.pop_back();
        Emit(Op::EndIf).level = level;
        break;
      }
      case kLoop: {
        const uint8_t level = Level(true);
        open_.push_back({Op::Loop, at});
        Emit(Op::Loop).level = level;
        program_.loop_levels = std::max<uint8_t>(program_.loop_levels, static_cast<uint8_t>(level + 1));
        break;
      }
      default: {
        if (open_.empty() || open_.back().op != Op::Loop) throw std::string("endloop without loop");
        const size_t loop = open_.back().at;
        open_.pop_back();
        Instruction& made = Emit(Op::EndLoop);
        made.level = program_.instructions[loop].level;
        made.target = static_cast<uint32_t>(loop + 1);
        program_.instructions[loop].target = static_cast<uint32_t>(at);
        break;
      }
    }
  }

  void Jump(uint32_t opcode, uint32_t token, TokenReader& in) {
    const bool breaks = opcode == kBreak || opcode == kBreakc, returns = opcode == kRet || opcode == kRetc;
    const Op op = returns ? Op::Return : breaks ? Op::Break : Op::Continue;
    const bool in_loop = std::any_of(open_.begin(), open_.end(), [](const Open& o) { return o.op == Op::Loop; });
    if (!returns && !in_loop) throw name_ + " outside of a loop";
    if (opcode == kBreakc || opcode == kContinuec || opcode == kRetc) Condition(op, token, in);
    else Emit(op).count = kAlways;
  }

  void Statement(uint32_t opcode, uint32_t token, TokenReader& in) {
    scratch_ = 0;
    if (const WordOp* found = Find(kWordOps, opcode)) {
      const Operand to = Destination(in);
      Operand from[4];
      for (uint8_t i = 0; i < found->sources; ++i) from[i] = in.ReadOperand();
      return Components(&to, &found->op, 1, from, found->sources, found->type, token & kSaturated);
    }
    if (const PairOp* found = Find(kPairOps, opcode)) {
      Operand to[2], from[2];
      for (Operand& one : to) one = Destination(in);
      for (uint8_t i = 0; i < found->sources; ++i) from[i] = in.ReadOperand();
      const Op ops[] = {found->first, found->second};
      return Components(to, ops, 2, from, found->sources, found->type, token & kSaturated);
    }
    if (const AtomicOp* found = Find(kAtomicOps, opcode)) return Atomic(*found, in);
    switch (opcode) {
      case kNop: return;
      case kLdRaw: return Load(Kind::Raw, in);
      case kLdStructured: return Load(Kind::Structured, in);
      case kLdUavTyped: return Load(Kind::Texels, in);
      case kStoreRaw: return Store(Kind::Raw, in);
      case kStoreStructured: return Store(Kind::Structured, in);
      case kStoreUavTyped: return Store(Kind::Texels, in);
      case kIf:
      case kElse:
      case kEndif:
      case kLoop:
      case kEndloop: return Flow(opcode, token, in);
      case kBreak:
      case kBreakc:
      case kContinue:
      case kContinuec:
      case kRet:
      case kRetc: return Jump(opcode, token, in);
      case kSync: {
        const bool threads = token & kSyncThreads;
        Emit(Op::Sync).count = threads;
        program_.syncs = program_.syncs || threads;
        return;
      }
      default: throw name_ + " is not part of the software adapter";
    }
  }

  void Finish() {
    RequireGroup();
    if (!open_.empty()) throw std::string(open_.back().op == Op::Loop ? "a loop is not closed" : "an if is not closed");
    // Instructions name a value that is there, whatever they make of it.
    if (program_.values.empty()) AddValue(Value::Kind::Immediate, 0);
  }

  Program program_;
  std::string name_;
  uint32_t temps_ = 0, scratch_ = 0;
  bool group_declared_ = false;
  std::map<std::pair<uint32_t, uint32_t>, size_t> memories_;
  std::map<std::pair<Value::Kind, uint32_t>, uint16_t> values_;
  std::vector<Open> open_;
};

}  // namespace

std::shared_ptr<const Program> Decode(const void* container, size_t size, std::string* wrong) {
  try {
    return Decoder().Decode(container, size);
  } catch (const std::string& why) {
    *wrong = why;
    return nullptr;
  }
}

}  // namespace dxtensor::software::shader
