// SPDX-License-Identifier: Apache-2.0
// Two configurations by what is written of them: elements by path and name, and their texts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <pugixml.hpp>

#include "bindings/config/configuration.h"

namespace pinnace::config {
namespace {

using Elements = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 7> kLimits{
    "LeasePeriod",   "Expiration", "MaxBacklog",           "MaxPerSubscriptionBacklog",
    "MaxDeliveries", "MaxCancels", "DeferredAckExpiration"};

// SOW/Queue Q/LeasePeriod; what has no name is known by its place.
void gather(pugi::xml_node parent, const std::string& path, Elements& to) {
    int place = 0;
    for (const pugi::xml_node child : parent.children()) {
        if (child.type() != pugi::node_element) continue;
        ++place;
        std::string name = path.empty() ? child.name() : fmt::format("{}/{}", path, child.name());
        const bool has_children = child.first_child().type() == pugi::node_element;
        if (!has_children) {
            to[name] += fmt::format("{}\n", child.child_value());
            continue;
        }
        const std::string_view kind = child.name();
        if (child.child("Name")) {
            name = fmt::format("{} {}", name, child.child_value("Name"));
        } else if (kind == "Action" || kind == "Do" || kind == "Target") {
            name = fmt::format("{} {}", name, place);
        }
        gather(child, name, to);
    }
}

Elements elements_of(const Configuration& configuration) {
    pugi::xml_document document;
    document.load_string(write(configuration).c_str());
    Elements elements;
    gather(document.document_element(), "", elements);
    return elements;
}

// The definitions of `next` with a name that `running` has not; each is said by `prefix` and its name.
template <class T>
std::vector<T> added(const std::vector<T>& running, const std::vector<T>& next, std::string_view prefix,
                     std::vector<std::string>& said) {
    std::vector<T> more;
    for (const T& one : next) {
        if (std::ranges::find(running, one.name, &T::name) != running.end()) continue;
        more.push_back(one);
        said.push_back(fmt::format("{} {}", prefix, one.name));
    }
    return more;
}

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

void take_limits(QueueConfig& to, const QueueConfig& from) {
    to.lease_period = from.lease_period;
    to.expiration = from.expiration;
    to.max_backlog = from.max_backlog;
    to.max_per_subscription_backlog = from.max_per_subscription_backlog;
    to.max_deliveries = from.max_deliveries;
    to.max_cancels = from.max_cancels;
    to.deferred_ack_expiration = from.deferred_ack_expiration;
}

bool below(std::string_view path, const std::vector<std::string>& parents) {
    return std::ranges::any_of(parents,
                               [&](const std::string& parent) { return path.starts_with(parent + "/"); });
}

bool has_below(const Elements& elements, const std::string& parent) {
    const auto at = elements.lower_bound(parent + "/");
    return at != elements.end() && at->first.starts_with(parent + "/");
}

const char* tag_name(QueueTag tag) {
    return tag == QueueTag::queue ? "Queue" : tag == QueueTag::local ? "LocalQueue" : "GroupLocalQueue";
}

}  // namespace

Changes compare(const Configuration& running, const Configuration& next) {
    Changes changes;
    changes.running = running;
    Definitions& merged = changes.running.definitions;
    const Definitions& now = running.definitions;
    const Definitions& then = next.definitions;
    std::vector<std::string> more;
    changes.added.message_types =
        added(now.message_types, then.message_types, "MessageTypes/MessageType", more);
    changes.added.topics = added(now.topics, then.topics, "TransactionLog/Topic", more);
    for (const QueueConfig& queue : then.queues) {
        if (std::ranges::find(now.queues, queue.name, &QueueConfig::name) != now.queues.end()) continue;
        changes.added.queues.push_back(queue);
        more.push_back(fmt::format("SOW/{} {}", tag_name(queue.tag), queue.name));
    }
    append(merged.message_types, changes.added.message_types);
    append(merged.topics, changes.added.topics);
    append(merged.queues, changes.added.queues);
    changes.applied = more;

    const Elements before = elements_of(running);
    const Elements after = elements_of(next);
    std::vector<std::string> differing;
    for (const auto& [path, text] : before)
        if (const auto at = after.find(path); at == after.end() || at->second != text)
            differing.push_back(path);
    for (const auto& [path, text] : after)
        if (!before.contains(path)) differing.push_back(path);
    std::ranges::sort(differing);
    for (const std::string& path : differing) {
        if (below(path, more)) continue;
        const std::string owner = path.substr(0, path.rfind('/'));
        const std::string_view element = std::string_view(path).substr(path.rfind('/') + 1);
        const std::size_t name = owner.find("Queue ");
        const std::string queue = name == std::string::npos ? "" : owner.substr(name + 6);
        const auto old = std::ranges::find(merged.queues, queue, &QueueConfig::name);
        const auto wanted = std::ranges::find(then.queues, queue, &QueueConfig::name);
        const bool is_limit = std::ranges::find(kLimits, element) != kLimits.end();
        if (!is_limit || old == merged.queues.end() || wanted == then.queues.end()) {
            // What is there as a whole in one of them only is said once.
            const bool in_both = has_below(before, owner) && has_below(after, owner);
            const std::string& said = in_both ? path : owner;
            if (changes.refused.empty() || changes.refused.back() != said) changes.refused.push_back(said);
            continue;
        }
        changes.applied.push_back(path);
        take_limits(*old, *wanted);
        std::erase_if(changes.changed, [&](const QueueConfig& one) { return one.name == queue; });
        changes.changed.push_back(*old);
    }
    return changes;
}

}  // namespace pinnace::config
