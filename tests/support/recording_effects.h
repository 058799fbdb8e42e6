// SPDX-License-Identifier: Apache-2.0
// RecordingEffects: a world for the core in tests: keeps every effect, and the records as a journal that can
// be applied again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/core.h"

namespace pinnace::test {

struct StoredRecord {
    RecordHeader header;
    std::vector<std::byte> head;
    std::vector<std::byte> body;
    BodyRef body_ref;
};

class RecordingEffects final : public Effects {
 public:
    std::vector<StoredRecord> records;
    std::vector<Delivery> deliveries;
    std::vector<Expired> expirations;
    std::vector<std::pair<SubscriptionId, std::string>> ended;
    bool cold = false;     // bodies have to be read first
    bool keep_all = true;  // false: only counts, for tests of allocation and cost
    RecordIndex record_count = 0;
    std::uint64_t delivery_count = 0;
    Delivery last_delivery;

    RecordIndex record(const RecordHeader& header, std::span<const std::byte> head,
                       const BodyRef& body) override {
        ++record_count;
        if (!keep_all) return record_count;
        StoredRecord stored{header, {head.begin(), head.end()}, {}, body};
        if (body.data != nullptr) stored.body.assign(body.data, body.data + body.size);
        stored.header.payload_size = static_cast<std::uint32_t>(head.size()) + body.size;
        stored.body_ref.data = nullptr;
        records.push_back(std::move(stored));
        return record_count;
    }
    bool deliver(const Delivery& delivery) override {
        ++delivery_count;
        last_delivery = delivery;
        if (keep_all) {
            deliveries.push_back(delivery);
            deliveries.back().body.data = nullptr;
        }
        return !cold;
    }
    void expired(const Expired& event) override {
        if (keep_all) expirations.push_back(event);
    }
    void subscription_ended(SubscriptionId subscription, std::string_view why) override {
        ended.emplace_back(subscription, why);
    }

    // Applies the first `count` records to another core; the error, or an empty text.
    std::string apply_to(Core& core, std::size_t count) const {
        for (std::size_t index = 0; index < count; ++index) {
            const StoredRecord& stored = records[index];
            BodyRef body = stored.body_ref;
            body.data = stored.body.empty() ? nullptr : stored.body.data();
            const auto applied = core.apply({stored.header, stored.head, body});
            if (!applied) return applied.error();
        }
        return {};
    }
};

}  // namespace pinnace::test
