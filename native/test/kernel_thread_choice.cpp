// How a short program chooses its threads: a disturbed measurement does not stay.
#include "software/compiler/thread_choice.h"
#include "kernel_test.h"

namespace dxtensor::test {

namespace {

using software::ThreadChoice;
using Run = ThreadChoice::Run;

// Makes `count` runs, which take these times in nanoseconds; returns how many of them ran on one thread by choice.
unsigned MakeRuns(ThreadChoice& choice, unsigned count, uint64_t shared, uint64_t alone) {
  unsigned chosen = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Run run = choice.Next();
    chosen += run == Run::Alone;
    if (run == Run::MeasuredShared) choice.Note(run, shared);
    if (run == Run::MeasuredAlone) choice.Note(run, alone);
  }
  return chosen;
}

void Chooses(Suite&) {
  ThreadChoice faster, same, longer;
  CHECK(MakeRuns(faster, 10000, 55000, 100000) == 0);
  CHECK(MakeRuns(same, 10000, 55000, 60000) > 9900);
  CHECK(MakeRuns(longer, 10000, 250000, 250000) == 0);  // only short programs
}

void MeasuresAgain(Suite&) {
  ThreadChoice choice;
  CHECK(MakeRuns(choice, 32, 100000, 100000) == 22);  // the pool's threads were busy elsewhere
  CHECK(MakeRuns(choice, 9968, 55000, 100000) == 0);
  CHECK(MakeRuns(choice, 4096, 55000, 60000) > 2000);  // until the measurement at run 10,240 as before
}

const Register kChooses("threads of short programs", Chooses);
const Register kMeasuresAgain("threads of short programs, measured again", MeasuresAgain);

}  // namespace

}  // namespace dxtensor::test
