// SPDX-License-Identifier: Apache-2.0
// LiveClient: one client of a scenario: a connection over shared memory with its subscriptions, in this
// process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/cli/scenario/world.h"
#include "bindings/cpp/pinnace.h"

namespace pinnace::scenario {

// An engine's answer as a fault that a scenario may want.
std::unexpected<Fault> fault_of(const Error& error);
Answer answer_of(ErrorCode code);

class LiveClient {
 public:
    static Outcome<LiveClient> connect(const std::string& socket, const std::string& name);
    LiveClient(LiveClient&&) noexcept = default;

    Outcome<void> subscribe(const Subscribe& command);
    Outcome<void> replace(const Replace& command);
    Outcome<void> unsubscribe(const std::string& subscription);
    bool has(const std::string& subscription) const { return subscriptions_.contains(subscription); }
    // Manual ones share no client with others: the library takes for all of a connection at once.
    bool has_manual() const;
    bool empty() const { return subscriptions_.empty(); }

    // What one call takes out of the ring.
    struct Taken {
        std::string subscription;
        std::string queue;
        Received message;
    };
    using Take = std::vector<Taken>;
    Outcome<Take> take(const std::string& subscription, std::uint64_t count);
    // Of all subscriptions that take at once, everything.
    Outcome<Take> take_at_once();

    Outcome<Take> receive(const std::string& name, const std::string& queue, std::uint64_t count_max);
    // `queue`: any one; the leases say which they are of.
    Outcome<std::vector<Answer>> verbs(const std::string& queue, Verb verb, std::span<const Lease> leases,
                                       Duration period);
    Outcome<Lease> bare_lease(const std::string& queue, Position position);
    Outcome<std::uint64_t> acknowledge_where(const std::string& queue, const std::string& where);

    // Orderly, in one step for all its subscriptions; or without a word.
    void disconnect();
    void abandon();
    // Lets the library notice that the engine stops.
    void poll() { static_cast<void>(connection_.poll()); }

    Connection& connection() { return connection_; }

 private:
    struct Held {
        Subscriber subscriber;
        bool manual = false;
    };
    explicit LiveClient(Connection connection) : connection_(std::move(connection)) {}
    Connection connection_;
    std::map<std::string, Held> subscriptions_;
    std::map<std::string, Subscriber> pullers_;  // by queue
};

}  // namespace pinnace::scenario
