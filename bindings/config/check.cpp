// SPDX-License-Identifier: Apache-2.0
// Reader: what the core says of the definitions, at the places where they stand. The core that is asked is
// the one that an engine would have, so that what is checked is what is served.
#include <fmt/format.h>

#include <algorithm>

#include "bindings/config/reader.h"

namespace pinnace::config {
namespace {

// A core that only defines has no effects.
class NoEffects final : public Effects {
 public:
    RecordIndex record(const RecordHeader&, std::span<const std::byte>, const BodyRef&) override { return 0; }
    bool deliver(const Delivery&) override { return true; }
    void expired(const Expired&) override {}
    void subscription_ended(SubscriptionId, std::string_view) override {}
};

// As the core's own names go: the text without the element's name in front.
std::string_view without_element(const Refusal& refusal) {
    std::string_view text = refusal.text;
    if (text.starts_with(refusal.element + ": ")) text.remove_prefix(refusal.element.size() + 2);
    return text;
}

}  // namespace

// At the child that is at fault, or at its owner if the child is missing.
void Reader::report(const Refusal& refusal, pugi::xml_node owner) {
    pugi::xml_node child;
    for (const pugi::xml_node node : owner.children(refusal.element.c_str())) child = node;
    if (!child && refusal.element == "Name") child = owner.child("Topic");
    if (child) {
        document_.error_at(document_.text_place(child), child, std::string(without_element(refusal)));
    } else {
        document_.error(owner, refusal.text);
    }
}

void Reader::check_definitions() {
    const Definitions& definitions = configuration_.definitions;
    NoEffects effects;
    CoreOptions options;
    options.topics_must_be_covered = true;
    Core core(effects, options);
    std::size_t seen = 0;
    const auto report_new = [&](pugi::xml_node owner, const std::vector<std::string>& known) {
        for (; seen < core.refusals().size(); ++seen) {
            const Refusal& refusal = core.refusals()[seen];
            if (std::ranges::find(known, refusal.element) == known.end()) report(refusal, owner);
        }
    };
    for (std::size_t index = 0; index < definitions.message_types.size(); ++index) {
        (void)core.define_message_type(definitions.message_types[index]);
        report_new(type_elements_[index], {});
    }
    for (std::size_t index = 0; index < definitions.topics.size(); ++index) {
        (void)core.define_topic(definitions.topics[index]);
        report_new(topic_elements_[index], {});
    }
    for (std::size_t index = 0; index < definitions.views.size(); ++index) {
        (void)core.define_topic({definitions.views[index].name, definitions.views[index].message_type});
        report_new(view_elements_[index], {});
    }
    for (std::size_t index = 0; index < definitions.queues.size(); ++index) {
        (void)core.define_queue(definitions.queues[index]);
        report_new(queue_elements_[index], queue_faults_[index]);
    }
    for (std::size_t index = 0; index < definitions.actions.size(); ++index)
        (void)core.define_action(definitions.actions[index]);
    (void)core.finish_definitions();
    for (; seen < core.refusals().size(); ++seen) {
        const Refusal& refusal = core.refusals()[seen];
        const auto queue = std::ranges::find(definitions.queues, refusal.owner, &QueueConfig::name);
        const auto index = static_cast<std::size_t>(queue - definitions.queues.begin());
        const bool known =
            queue != definitions.queues.end() &&
            std::ranges::find(queue_faults_[index], refusal.element) != queue_faults_[index].end();
        if (!known) report(refusal, owner_element(refusal.owner));
    }
}

// The core's names: a queue's own, "action 2", "action 2 step 0".
pugi::xml_node Reader::owner_element(const std::string& owner) const {
    const auto& queues = configuration_.definitions.queues;
    for (std::size_t index = 0; index < queues.size(); ++index)
        if (queues[index].name == owner) return queue_elements_[index];
    for (std::size_t index = 0; index < action_elements_.size(); ++index) {
        const std::string name = fmt::format("action {}", index);
        if (owner == name) return action_elements_[index].child("On").child("Options");
        std::size_t step = 0;
        for (const pugi::xml_node to_do : action_elements_[index].children("Do"))
            if (owner == fmt::format("{} step {}", name, step++)) return to_do.child("Options");
    }
    return document_.root();
}

std::expected<void, std::string> try_definitions(const Definitions& definitions) {
    NoEffects effects;
    CoreOptions options;
    options.topics_must_be_covered = definitions.topics_must_be_covered;
    Core core(effects, options);
    const auto defined = define_all(core, definitions);
    if (!defined) return std::unexpected(defined.error().text);
    return {};
}

}  // namespace pinnace::config
