// SPDX-License-Identifier: LGPL-2.1-or-later
// Binds a model's inputs.
#include "gst/infer/runs/hostrun.h"

#include <utility>

#include "gst/infer/facts/modelports.h"

namespace keepbox {

Result<HostRun> HostRun::create(const ModelSession& session, const ModelRuns& runs,
                                const ModelFacts& facts, std::span<std::byte> pictures,
                                unsigned batch) {
  HostRun out;
  out.run_ = runs.make();
  const auto& ports = session.declaration().inputs;
  KB_TRY(out.run_->bind(facts.image_input, pictures, facts.input.type,
                        bound_dims(ports[facts.image_input], facts.input, batch)));
  for (const SizeInput& extra : facts.size_inputs) {
    const ModelPort& port = ports[extra.index];
    KB_ASSIGN(auto made, make_extra(port, extra.kind, facts.input.size, batch));
    KB_TRY(out.run_->bind(extra.index, made.values, *port.type, made.dims));
    out.extras_.push_back(std::move(made.memory));
  }
  return out;
}

}  // namespace keepbox
