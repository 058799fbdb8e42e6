// SPDX-License-Identifier: Apache-2.0
// Generator: random definitions and commands. It looks at the model to know what makes sense now: mostly it
// does what a client would do, often at the very instant at which something falls due, and sometimes what
// makes no sense.
#pragma once

#include <optional>
#include <vector>

#include "tests/model/random.h"
#include "tests/model/reference/model.h"

namespace pinnace::model {

// Which parts of the contract a sequence uses, as bits; for narrowing down by hand.
enum Feature : unsigned {
    kFilters = 1,
    kPriorities = 2,
    kBarriers = 4,
    kFifo = 8,
    kSticky = 16,
    kDedup = 32,
    kDelays = 64,
    kExpirations = 128,
    kLimits = 256,
    kDeadLetters = 512,
    kAtMostOnce = 1024,
    kDepths = 2048,
    kPulls = 4096,
    kBatches = 8192,
    kSharedTopics = 1 << 14,
    kTails = 1 << 15,
    kLives = 1 << 16,
    kManual = 1 << 17,
    kPatterns = 1 << 18,
    kNumbers = 1 << 19,
    kReplaces = 1 << 20,
    kSweeps = 1 << 21,  // purge, redrive, acknowledge by filter
    kPersisted = 1 << 22,
    kAllFeatures = (1 << 23) - 1,
};

class Generator {
 public:
    Generator(std::uint64_t seed, unsigned features);

    Sequence setup();
    Command next(const Model& model);

 private:
    QueueDef queue(int index, int count);
    void fifo_queue(QueueDef& def);
    void times_and_limits(QueueDef& def);
    std::string filter();
    NewMessage message(const Model& model, bool of_batch);
    Command publish(const Model& model);
    Command subscribe(const Model& model);
    Command replace(const Model& model);
    Command verbs(const Model& model);
    Command advance(const Model& model);
    Command receive(const Model& model);
    Command sweep(const Model& model);
    Command end(const Model& model);
    std::string target(const Model& model);
    int live_subscriber(const Model& model);
    bool with(unsigned feature) const { return (features_ & feature) != 0; }

    Random random_;
    unsigned features_;
    std::uint64_t seed_;
    int next_message_ = 1;
    int next_subscription_ = 1;
    int next_client_ = 1;
    int next_puller_ = kPullerBase;
    std::vector<std::uint64_t> numbers_ = std::vector<std::uint64_t>(3, 0);  // of publishers
    std::vector<std::string> topics_;
    bool many_lives_ = false;
};

}  // namespace pinnace::model
