// SPDX-License-Identifier: Apache-2.0
#include "bindings/cli/scenario/ledger.h"

#include <utility>

namespace pinnace::scenario {

void Ledger::name(const std::string& name, MessageId id) {
    ids_[name] = id;
    if (id != 0) names_.try_emplace(id, name);
}

std::optional<MessageId> Ledger::find(const std::string& name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::string Ledger::name_of(MessageId id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? std::string() : found->second;
}

void Ledger::received(const std::string& subscription, const Received& message) {
    newest_[{subscription, message.id}] = message.tag;
}

void Ledger::keep_for_expect(const std::string& subscription, Received message) {
    inboxes_[subscription].push_back(std::move(message));
}

std::optional<std::vector<Received>> Ledger::take_received(const std::string& subscription) {
    const auto found = inboxes_.find(subscription);
    if (found == inboxes_.end()) return std::nullopt;
    return std::exchange(found->second, {});
}

std::optional<DeliveryTag> Ledger::newest_delivery(const std::string& subscription, MessageId id) const {
    const auto found = newest_.find({subscription, id});
    return found == newest_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace pinnace::scenario
