// SPDX-License-Identifier: Apache-2.0
#include "shm/server_handshake.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/check.h"

namespace pinnace::shm {

namespace {

std::uint64_t random_word() {
    std::uint64_t word = 0;
    ssize_t size = 0;
    do {
        size = getrandom(&word, sizeof(word), 0);
    } while (size < 0 && errno == EINTR);
    PINNACE_CHECK(size == sizeof(word));
    return word;
}

// What is wanted, made a power of two and cut to what we give.
std::uint64_t fit(std::uint64_t wanted, std::uint64_t minimum, std::uint64_t maximum) {
    return std::bit_ceil(std::clamp(wanted, minimum, std::bit_floor(maximum)));
}

std::string versions_text(std::uint32_t protocol, std::uint32_t layout) {
    return "protocol " + std::to_string(protocol) + ", layout " + std::to_string(layout);
}

}  // namespace

Admission::Admission(EngineRegions& regions, const AdmissionLimits& limits)
    : regions_(regions), limits_(limits) {}

std::shared_ptr<void> Admission::take_quota(uid_t user, std::uint64_t memory_size, std::string& why) {
    User& entry = state_->users[user];
    if (state_->session_count >= limits_.session_count_max) {
        why = "the engine has its " + std::to_string(limits_.session_count_max) + " sessions already";
    } else if (entry.session_count >= limits_.session_count_max_per_user) {
        why = "user " + std::to_string(user) + " has its " + std::to_string(entry.session_count) +
              " sessions already";
    } else if (memory_size > limits_.memory_size_max_per_user - entry.memory_size) {
        why = "user " + std::to_string(user) + " may have " +
              std::to_string(limits_.memory_size_max_per_user) + " bytes of rings in all";
    } else {
        ++state_->session_count;
        ++entry.session_count;
        entry.memory_size += memory_size;
        auto give_back = [state = state_, user, memory_size](void*) {
            User& used = state->users[user];
            --state->session_count;
            used.memory_size -= memory_size;
            if (--used.session_count == 0) state->users.erase(user);
        };
        return std::shared_ptr<void>(static_cast<void*>(state_.get()), give_back);
    }
    if (entry.session_count == 0) state_->users.erase(user);
    return nullptr;
}

std::shared_ptr<void> Admission::take_region(const FileIdentity& file) {
    if (!state_->regions.insert(file).second) return nullptr;
    return std::shared_ptr<void>(static_cast<void*>(state_.get()),
                                 [state = state_, file](void*) { state->regions.erase(file); });
}

ServerHandshake::ServerHandshake(Fd socket, Admission& admission) : admission_(admission) {
    parts_.socket = std::move(socket);
    // Before the first answer, so that `mapped` carries its sender's credentials.
    const auto asked = ask_for_credentials(parts_.socket.get());
    auto watch = PeerWatch::open(parts_.socket.get());
    if (watch) parts_.watch = std::move(*watch);
    if (!asked || !watch) fail(asked ? watch.error() : asked.error());
}

void ServerHandshake::fail(const std::string& text) {
    failure_ = text;
    state_ = State::failed;
}

void ServerHandshake::refuse(RefusalReason reason, const std::string& text) {
    RefusedMessage message;
    message.reason = static_cast<std::uint32_t>(reason);
    text.copy(message.text, sizeof(message.text) - 1);
    send_message(parts_.socket.get(),
                 bytes_of(message));  // best effort: whoever does not read it hangs up anyway
    fail(text);
}

ServerHandshake::State ServerHandshake::step() {
    if (state_ != State::awaiting_hello && state_ != State::awaiting_mapped) return state_;
    std::byte buffer[1024];
    Received received = receive_message(parts_.socket.get(), buffer);
    switch (received.status) {
        case ReceiveStatus::would_block:
            return state_;
        case ReceiveStatus::closed:
        case ReceiveStatus::failed:
            fail("the client left during the handshake");
            return state_;
        case ReceiveStatus::truncated:
            refuse(RefusalReason::malformed, "the message is larger than any of the handshake's");
            return state_;
        case ReceiveStatus::descriptors_lost:
            refuse(RefusalReason::descriptors, "descriptors were lost on the way to the engine");
            return state_;
        case ReceiveStatus::message:
            break;
    }
    const std::span<const std::byte> bytes(buffer, received.size);
    if (state_ == State::awaiting_hello) {
        on_hello(bytes, received.descriptors);
    } else {
        on_mapped(bytes, received);
    }
    return state_;
}

bool ServerHandshake::check_versions(const HelloMessage& hello) {
    if (hello.magic != kHelloMagic || hello.kind != static_cast<std::uint32_t>(MessageKind::hello)) {
        refuse(RefusalReason::not_pinnace, "this is no client of pinnace");
        return false;
    }
    if (hello.byte_order != kByteOrderMark || hello.word_size != sizeof(void*)) {
        refuse(RefusalReason::not_pinnace, "the client has another byte order or word size than the engine");
        return false;
    }
    if (hello.protocol_version != kProtocolVersion || hello.layout_version != kLayoutVersion) {
        refuse(RefusalReason::version, "the engine speaks " +
                                           versions_text(kProtocolVersion, kLayoutVersion) + "; the client " +
                                           versions_text(hello.protocol_version, hello.layout_version) +
                                           ": engine and client library have to be of the same version");
        return false;
    }
    return true;
}

void ServerHandshake::on_hello(std::span<const std::byte> bytes, std::vector<Fd>& descriptors) {
    HelloMessage hello;
    constexpr std::size_t kFixedSize = offsetof(HelloMessage, features);
    if (bytes.size() < kFixedSize) return refuse(RefusalReason::not_pinnace, "this is no client of pinnace");
    std::memcpy(&hello, bytes.data(), std::min(bytes.size(), sizeof(hello)));
    if (!check_versions(hello)) return;
    const bool wants_adoption = (hello.flags & kHelloAdopt) != 0;
    if (bytes.size() != sizeof(hello) || hello.size != sizeof(hello) ||
        (hello.flags & ~(kHelloConsumer | kHelloAdopt)) != 0 || hello.client_name[kClientNameSize - 1] != 0) {
        return refuse(RefusalReason::malformed, "the hello is malformed");
    }
    if ((hello.features & ~kFeaturesKnown) != 0) {
        return refuse(RefusalReason::version, "the client asks for a feature that this engine does not have");
    }
    if (descriptors.size() != (wants_adoption ? 1 : 0)) {
        return refuse(RefusalReason::descriptors,
                      "the hello brings descriptors that it should not, or lacks one");
    }
    if (admission_.is_stopping()) return refuse(RefusalReason::stopping, "the engine is about to stop");
    parts_.client_name = hello.client_name;
    parts_.is_consumer = (hello.flags & kHelloConsumer) != 0;
    if (!choose_geometry(hello) || !make_regions(hello, descriptors) || !send_welcome()) return;
    state_ = State::awaiting_mapped;
}

bool ServerHandshake::choose_geometry(const HelloMessage& hello) {
    const SessionGeometry& largest = admission_.limits().largest;
    if ((hello.flags & kHelloAdopt) != 0) {
        parts_.geometry = hello.wanted;
        if (!is_valid(hello.wanted) || hello.submit_position % kFrameAlignment != 0) {
            refuse(RefusalReason::adoption, "the old region's sizes cannot be");
            return false;
        }
    } else {
        parts_.geometry.submit_capacity =
            fit(hello.wanted.submit_capacity, kSubmitCapacityMin, largest.submit_capacity);
        parts_.geometry.ack_count = fit(hello.wanted.ack_count, kEntryCountMin, largest.ack_count);
        parts_.geometry.delivery_count =
            fit(hello.wanted.delivery_count, kEntryCountMin, largest.delivery_count);
        parts_.geometry.answer_count = fit(hello.wanted.answer_count, kEntryCountMin, largest.answer_count);
    }
    if (!parts_.is_consumer) parts_.geometry.delivery_count = kEntryCountMin;
    parts_.message_size_max =
        message_size_max(parts_.geometry.submit_capacity, admission_.regions().options().message_size_max);
    std::string why;
    quota_ = admission_.take_quota(credentials().uid, parts_.geometry.up_size() + parts_.geometry.down_size(),
                                   why);
    if (!quota_) refuse(RefusalReason::too_many, why);
    return quota_ != nullptr;
}

bool ServerHandshake::make_regions(const HelloMessage& hello, std::vector<Fd>& descriptors) {
    const MemoryOptions& memory = admission_.regions().options().memory;
    auto down = create_memfd("pinnace-down", parts_.geometry.down_size(), memory);
    if (!down) {
        refuse(RefusalReason::no_memory, down.error());
        return false;
    }
    auto mapped = Mapping::map(down->fd, down->size, Access::read_write);
    if (!mapped) {
        refuse(RefusalReason::no_memory, mapped.error());
        return false;
    }
    if (down->rung == MemoryRung::transparent_huge_pages) mapped->advise_huge();
    auto ready = mapped->populate(Access::read_write, memory.lock);
    if (ready) ready = seal_for_good(down->fd);
    if (!ready) {
        refuse(RefusalReason::no_memory, ready.error());
        return false;
    }
    parts_.rung = down->rung;
    parts_.down = std::move(*mapped);
    parts_.down_file = std::move(*down);
    if ((hello.flags & kHelloAdopt) != 0) return adopt(hello, std::move(descriptors.front()));
    auto up = create_memfd("pinnace-up", parts_.geometry.up_size(), memory);
    if (!up) {
        refuse(RefusalReason::no_memory, up.error());
        return false;
    }
    parts_.rung = std::max(parts_.rung, up->rung);
    up_file_ = std::move(*up);
    // Registered, so that nobody can bring it for adoption while this session lives.
    if (const auto file = identify(up_file_.fd); file) region_ = admission_.take_region(*file);
    parts_.ring_key = random_word();
    return true;
}

// Rule 23: the region was sealed for good by a former engine, so its size stands and only the client writes
// it.
bool ServerHandshake::adopt(const HelloMessage& hello, Fd old_region) {
    const auto checked = check_sealed(old_region, parts_.geometry.up_size(), true);
    if (!checked) {
        refuse(RefusalReason::adoption, "the old region is " + checked.error());
        return false;
    }
    const auto file = identify(old_region);
    if (file) region_ = admission_.take_region(*file);
    if (!region_) {
        refuse(RefusalReason::adoption, "the old region is in use by another session");
        return false;
    }
    up_file_.fd = std::move(old_region);
    up_file_.size = file->size;
    parts_.is_adopted = true;
    parts_.ring_key = hello.ring_key;
    parts_.submit_start = hello.submit_position;
    parts_.ack_start = hello.ack_index;
    return true;
}

bool ServerHandshake::send_welcome() {
    auto wake = make_wake_pair();
    if (!wake) {
        refuse(RefusalReason::no_memory, wake.error());
        return false;
    }
    parts_.wake = std::move(wake->engine);
    parts_.id = admission_.next_session_id();
    nonce_ = random_word();
    const EngineRegions& regions = admission_.regions();
    WelcomeMessage welcome;
    welcome.size = sizeof(welcome);
    welcome.session_id = parts_.id;
    welcome.nonce = nonce_;
    welcome.ring_key = parts_.ring_key;
    welcome.epoch = regions.options().epoch;
    std::memcpy(welcome.engine_id, regions.options().engine_id.data(), sizeof(welcome.engine_id));
    welcome.geometry = parts_.geometry;
    welcome.log = regions.log_geometry();
    welcome.message_size_max = parts_.message_size_max;
    welcome.flags = (parts_.is_consumer ? kWelcomeConsumer : 0) | (parts_.is_adopted ? kWelcomeAdopted : 0);
    welcome.wait_mode = static_cast<std::uint32_t>(regions.options().wait_mode);
    std::vector<int> descriptors = {wake->client.get(), parts_.down_file.fd.get(), regions.control_fd()};
    if (!parts_.is_adopted) descriptors.push_back(up_file_.fd.get());
    if (parts_.is_consumer) {
        for (const int fd : regions.log_fds()) descriptors.push_back(fd);
    }
    if (send_message(parts_.socket.get(), bytes_of(welcome), descriptors) != SendStatus::sent) {
        fail("the welcome could not be sent");
        return false;
    }
    return true;
}

void ServerHandshake::on_mapped(std::span<const std::byte> bytes, const Received& received) {
    MappedMessage message;
    if (bytes.size() != sizeof(message) || !received.descriptors.empty()) {
        return refuse(RefusalReason::malformed, "the answer to the welcome is malformed");
    }
    std::memcpy(&message, bytes.data(), sizeof(message));
    if (message.kind != static_cast<std::uint32_t>(MessageKind::mapped) || message.nonce != nonce_) {
        return refuse(RefusalReason::malformed, "the answer to the welcome is not the one expected");
    }
    // Rule 6: the process that answers now is the one that the pidfd was opened for.
    if (!received.credentials || received.credentials->pid != credentials().pid ||
        received.credentials->uid != credentials().uid) {
        return refuse(RefusalReason::credentials, "another process than the one that connected answers");
    }
    if (!map_up()) return;
    AdmittedMessage admitted;
    admitted.session_id = parts_.id;
    if (send_message(parts_.socket.get(), bytes_of(admitted)) != SendStatus::sent) {
        return fail("the client left during the handshake");
    }
    state_ = State::done;
}

// Rule 2: seal, verify, and only then map, populate and lock. The client could truncate and grow the region
// until the seal; populate fills the holes that this leaves, or fails.
bool ServerHandshake::map_up() {
    std::expected<void, std::string> done;
    if (!parts_.is_adopted) done = seal_for_good(up_file_.fd);
    if (done) done = check_sealed(up_file_.fd, parts_.geometry.up_size(), true);
    if (done) {
        auto mapped = Mapping::map(up_file_.fd, parts_.geometry.up_size(), Access::read_only);
        if (mapped) {
            parts_.up = std::move(*mapped);
            if (up_file_.rung == MemoryRung::transparent_huge_pages) parts_.up.advise_huge();
            done = parts_.up.populate(Access::read_only, admission_.regions().options().memory.lock);
        } else {
            done = std::unexpected(mapped.error());
        }
    }
    if (!done) refuse(RefusalReason::sealing, done.error());
    return done.has_value();
}

std::unique_ptr<ServerSession> ServerHandshake::take_session() {
    PINNACE_CHECK(state_ == State::done);
    parts_.quota = std::move(quota_);
    parts_.region = std::move(region_);
    return std::make_unique<ServerSession>(std::move(parts_));
}

Remains ServerHandshake::take_remains() { return {std::move(parts_.watch), std::move(quota_)}; }

}  // namespace pinnace::shm
