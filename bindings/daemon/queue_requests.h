// SPDX-License-Identifier: Apache-2.0
// Requests about a queue as a whole: query, pulls, verbs by filter, purge and redrive.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "bindings/daemon/requests.h"
#include "bindings/protocol/requests.h"
#include "bindings/protocol/wire.h"

namespace pinnace::daemon {

// As make_request(), for these kinds. Takes its fields out of `in`; the caller looks whether all was read.
std::function<bool()> make_queue_request(const RequestContext& context, protocol::RequestKind kind,
                                         protocol::WireReader& in, std::vector<std::byte>& answer);

}  // namespace pinnace::daemon
