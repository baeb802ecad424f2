// Two ways to execute a network: its operators one after the other in a list, and DirectML's own graph of them.
//
// A form owns compiled operators, their memory and the tables that its lists use: it outlives them. The device outlives the form.
#pragma once

#include <memory>
#include <vector>

#include "device.h"
#include "plan.h"

namespace dxtensor::peer {

struct ListCounts {
  int dispatches = 0, barriers = 0;
};

class Form {
 public:
  virtual ~Form() = default;
  // A closed list of one step, between these inputs and outputs of the network; they are bound once and for all.
  CommandList Record(const std::vector<Range>& inputs, const std::vector<Range>& outputs);
  double compile_ms() const { return compile_ms_; }
  const ListCounts& counts() const { return counts_; }

 protected:
  Form(Device& device, const Net& net) : device_(device), net_(net) {}
  virtual void RecordInto(CommandList& list, const std::vector<Range>& inputs, const std::vector<Range>& outputs) = 0;
  void Dispatch(CommandList& list, IDMLCompiledOperator* compiled, const std::vector<Range>& inputs, const std::vector<Range>& outputs,
                const Range& temporary, const Range& persistent);

  Device& device_;
  const Net& net_;
  double compile_ms_ = 0;
  ListCounts counts_;

 private:
  std::vector<Ref<IDMLBindingTable>> tables_;
};

std::unique_ptr<Form> MakeList(Device& device, const Net& net, Groups groups);
std::unique_ptr<Form> MakeGraph(Device& device, const Net& net);

}  // namespace dxtensor::peer
