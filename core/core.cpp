// SPDX-License-Identifier: Apache-2.0
// Core: the face of the machine.
#include "core/core.h"

#include <algorithm>
#include <array>

#include "core/machine.h"
#include "core/steps.h"

namespace pinnace {

struct Core::State : Machine {
    using Machine::Machine;
};

std::string_view to_text(Answer answer) {
    static constexpr std::array<std::string_view, 17> kTexts{
        "ok",        "duplicate",     "unknown",   "not_owner",   "stale",      "deferred",
        "range",     "unknown_topic", "gap",       "fenced",      "too_large",  "bad_filter",
        "bad_group", "bad_dedup",     "bad_delay", "bad_request", "would_block"};
    const auto index = static_cast<std::size_t>(answer);
    return index < kTexts.size() ? kTexts[index] : "bad_request";
}

Machine::Machine(Effects& effects_in, const CoreOptions& options_in)
    : effects(effects_in), options(options_in) {
    states.reserve(options.message_count_hint);
}

Core::Core(Effects& effects, const CoreOptions& options)
    : state_(std::make_unique<State>(effects, options)) {}
Core::~Core() = default;

std::expected<void, Refusal> Core::define_message_type(const expr::MessageType& type) {
    return state_->define_message_type(type);
}
std::expected<TopicId, Refusal> Core::define_topic(const TopicConfig& config) {
    return state_->define_topic(config);
}
std::expected<QueueId, Refusal> Core::define_queue(const QueueConfig& config) {
    return state_->define_queue(config);
}
std::expected<void, Refusal> Core::define_action(const ActionConfig& config) {
    return state_->define_action(config);
}
std::expected<void, Refusal> Core::finish_definitions() { return state_->finish_definitions(); }
std::expected<QueueId, Refusal> Core::add_queue(const QueueConfig& config) {
    return state_->add_queue(config);
}
void Core::change_limits(QueueId queue, const QueueConfig& config) { state_->change_limits(queue, config); }
std::span<const Refusal> Core::refusals() const { return state_->refusals; }
std::expected<void, std::string> Core::apply(const RecordView& record) { return state_->apply(record); }
void Core::set_epoch(std::uint32_t epoch) { state_->options.epoch = epoch; }
void Core::recovered(Time now, bool clean) { state_->recovered(now, clean); }

void Core::advance(Time now) { state_->advance(now); }
Time Core::now() const { return state_->now; }
Time Core::next_due() const { return state_->wheel.next(); }
void Core::durable(RecordIndex index) { state_->durable(index); }

void Core::publish(const PublishRequest& request, std::span<PublishResult> results) {
    if (results.size() == 1 && request.messages.size() == 1 && state_->publish_quickly(request, results[0]))
        return;
    state_->publish(request, results);
}

ClientId Core::open_client(std::uint32_t uid) { return state_->open_client(uid); }
void Core::end_client(ClientId client, std::span<const Untaken> untaken) {
    state_->end_client(client, untaken);
}
void Core::set_ring_free(ClientId client, std::uint32_t entry_count) {
    state_->set_ring_free(client, entry_count);
}
std::expected<Subscribed, RequestError> Core::subscribe(const SubscribeRequest& request) {
    return state_->subscribe(request);
}
std::expected<Subscribed, RequestError> Core::replace(const ReplaceRequest& request) {
    return state_->replace(request);
}
void Core::unsubscribe(SubscriptionId subscription, std::span<const Untaken> untaken) {
    state_->unsubscribe(subscription, untaken);
}

void Core::verbs(std::span<const VerbRequest> requests, std::span<Answer> answers) {
    PINNACE_CHECK(requests.size() <= answers.size());
    Machine& machine = *state_;
    for (std::size_t index = 0; index < requests.size(); ++index)
        answers[index] = machine.verb(requests[index]);
    machine.settle();
}
std::optional<Time> Core::visible(const Delivery& delivery, LogPosition log) {
    return state_->visible(delivery, log);
}
std::optional<Delivery> Core::current_delivery(const VerbRequest& request) const {
    return state_->current_delivery(request);
}
std::expected<Pulled, RequestError> Core::pull(const PullRequest& request) { return state_->pull(request); }
std::expected<std::uint64_t, RequestError> Core::verbs_where(const VerbWhereRequest& request, Slice& slice) {
    return state_->verbs_where(request, slice);
}
std::uint64_t Core::purge(QueueId queue, Slice& slice) { return state_->purge(queue, slice); }
std::uint64_t Core::redrive(QueueId from, QueueId to, Slice& slice) {
    return state_->redrive(from, to, slice);
}
Position Core::last_position() const { return state_->next_position - 1; }
Position Core::last_position(QueueId queue) const {
    const Handle last = state_->queues[queue]->directory.last(state_->blocks);
    return last == kNone ? 0 : state_->states[last].position;
}
void Core::unreadable(const Delivery& delivery) { state_->unreadable(delivery); }
void Core::stop() { state_->stop(); }

PublisherId Core::publisher(std::uint32_t uid, std::string_view name) { return state_->publisher(uid, name); }
std::uint64_t Core::highest_number(PublisherId publisher) const {
    return state_->publishers.known(publisher) ? state_->publishers.highest(publisher) : 0;
}

TopicId Core::resolve_topic(std::string_view name) { return state_->resolve_topic(name); }
TopicId Core::publish_target(QueueId queue) const {
    return queue < state_->queues.size() ? state_->queues[queue]->publish_target : kNone;
}
bool Core::deduplicates(QueueId queue) const {
    return queue < state_->queues.size() && state_->queues[queue]->config.dedup_window != 0;
}
TopicId Core::find_topic(std::string_view name) const { return state_->find_topic(name); }
QueueId Core::find_queue(std::string_view name) const { return state_->find_queue(name); }
std::string_view Core::topic_name(TopicId topic) const {
    return topic < state_->topics.size() ? std::string_view(state_->topics[topic].name) : std::string_view();
}
std::string_view Core::queue_name(QueueId queue) const {
    return queue < state_->queues.size() ? std::string_view(state_->queues[queue]->config.name)
                                         : std::string_view();
}
std::string_view Core::message_type(QueueId queue) const {
    return state_->queues[queue]->config.message_type;
}
const expr::MessageType& Core::message_type_definition(QueueId queue) const {
    return state_->evaluator.definition(state_->queues[queue]->type);
}
std::size_t Core::queue_count() const { return state_->queues.size(); }
TopicId Core::topic_of_record(std::uint32_t subject) const {
    return subject < state_->topic_of_journal.size() ? state_->topic_of_journal[subject] : kNone;
}

QueueStatus Core::status(QueueId id) const {
    const Queue& queue = *state_->queues[id];
    QueueStatus result;
    result.name = queue.config.name;
    result.depth = queue.depth();
    result.leased = queue.at_most_once ? 0 : queue.leased;
    queue.directory.for_each(state_->blocks, [&](Handle handle) {
        const MessageState& message = state_->states[handle];
        if (message.stage() == Stage::outstanding) return true;
        result.oldest = message.position;
        result.oldest_published = message.published;
        return false;
    });
    return result;
}

void Core::query(QueueId id, const std::function<bool(const QueuedMessage&)>& visit) const {
    Machine& machine = *state_;
    const Queue& queue = *machine.queues[id];
    std::vector<Handle> found;
    queue.directory.for_each(machine.blocks, [&](Handle handle) {
        const MessageState& message = machine.states[handle];
        const Stage stage = message.stage();
        const bool waits = stage == Stage::barrier || stage == Stage::grouped;
        if (is_available(stage) || (waits && machine.is_due(message))) found.push_back(handle);
        return true;
    });
    const auto key = [&](Handle handle) {
        const Lane& lane = machine.lanes[machine.states[handle].lane];
        return LaneKey{lane.priority, lane.numbered};
    };
    if (!queue.config.priority.empty())
        std::ranges::sort(found, [&](Handle a, Handle b) {
            const int order = compare_priority(key(a), key(b));
            return order != 0 ? order < 0 : machine.states[a].position < machine.states[b].position;
        });
    for (const Handle handle : found) {
        const MessageState& message = machine.states[handle];
        const QueuedMessage item{message.position, machine.routes[message.route].topic,
                                 machine.body_of(message), message.published, machine.body_position(message)};
        if (!visit(item)) return;
    }
}

std::uint64_t Core::durable_digest() const { return state_->durable_digest(); }
EvaluationCounts Core::evaluation_counts() const { return state_->evaluator.counts(); }
std::size_t Core::state_byte_count() const { return state_->state_byte_count(); }

}  // namespace pinnace
