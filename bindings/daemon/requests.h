// SPDX-License-Identifier: Apache-2.0
// Requests: what the dispatcher does for each kind of request of bindings/protocol/requests.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bindings/daemon/dispatcher.h"

namespace pinnace::daemon {

class QueueQuery;

// What a session's requests leave behind for later ones. The dispatcher's while the session lives.
struct RequestState {
    RequestState();
    ~RequestState();
    std::unique_ptr<QueueQuery> query;  // whose list was not fetched to its end
};

// Facts that requests need beside the dispatcher.
struct RequestContext {
    Dispatcher* dispatcher = nullptr;
    std::uint32_t session = 0;          // of the pump
    const SessionPort* port = nullptr;  // tells that the session is still this client's
    std::uint32_t uid = 0;
    // False: clients of the former life are still awaited (C4), so nobody gets deliveries yet.
    std::function<bool()> deliveries_allowed;
    std::function<std::string()> status;
    RequestState* state = nullptr;
};

// What is to run in the dispatcher; it fills in `answer` and says true, or says false to be tried again
// next turn. The payload was read whole: what does not parse is answered bad_request.
std::function<bool()> make_request(const RequestContext& context, std::uint32_t type,
                                   std::span<const std::byte> payload, std::vector<std::byte>& answer);

}  // namespace pinnace::daemon
