// SPDX-License-Identifier: Apache-2.0
// Ledger: what the runner remembers of a scenario: the names of messages, what each subscription has
// received since its last `expect`, and its newest delivery of each message.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/cli/scenario/world.h"

namespace pinnace::scenario {

class Ledger {
 public:
    void name(const std::string& name, MessageId id);
    std::optional<MessageId> find(const std::string& name) const;
    // The message's first name; empty: it has none.
    std::string name_of(MessageId id) const;

    void received(const std::string& subscription, const Received& message);
    void keep_for_expect(const std::string& subscription, Received message);
    // What has arrived since the last call for this subscription; nothing if there never was one of that
    // name.
    std::optional<std::vector<Received>> take_received(const std::string& subscription);
    void know(const std::string& subscription) { inboxes_[subscription]; }
    bool knows(const std::string& subscription) const { return inboxes_.contains(subscription); }

    std::optional<DeliveryTag> newest_delivery(const std::string& subscription, MessageId id) const;

 private:
    std::map<std::string, MessageId, std::less<>> ids_;
    std::map<MessageId, std::string> names_;
    std::map<std::string, std::vector<Received>, std::less<>> inboxes_;
    std::map<std::pair<std::string, MessageId>, DeliveryTag> newest_;
};

}  // namespace pinnace::scenario
