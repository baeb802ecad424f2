// Compiles operators and graphs through DirectML, and prepares their initialisation. The JavaScript thread's.
#pragma once

#include "counters.h"
#include "descriptor_heaps.h"
#include "heap_pool.h"
#include "program.h"
#include "queue.h"

namespace dxtensor::dml {

// Throws Failure with the operator's name.
CompiledOperator CompileOperator(const Context& context, const schema::OperatorDesc& desc);
CompiledOperator CompileGraph(const Context& context, GraphDesc desc);
// Makes the pipelines of a program's shaders by several threads. What is refused is told of by CompileShader.
void PrepareShaders(const Context& context, ShaderCache& cache, const ProgramDesc& desc);
CompiledOperator CompileShader(const Context& context, ShaderCache& cache, const ShaderDesc& desc, uint32_t buffers);

// One initialiser for all of a program's operators of DirectML's, bound over their persistent memory and `temporary` (0 where it needs
// none).
class Initialiser {
 public:
  Initialiser(const Context& context, const Program& program);
  uint64_t temporary_size() const { return temporary_; }
  std::unique_ptr<InitialiseWork> Bind(DescriptorHeaps& heaps, const HeapPool& pool, Address temporary);

 private:
  const Context& context_;
  const Program& program_;
  std::vector<const CompiledOperator*> operators_;
  ComPtr<IDMLOperatorInitializer> object_;
  uint32_t descriptors_ = 0;
  uint64_t temporary_ = 0;
};

}  // namespace dxtensor::dml
