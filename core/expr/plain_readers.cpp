// SPDX-License-Identifier: Apache-2.0
// Reads binary, which has no fields, and composite, which is a header of another format and an opaque body.
#include <memory>
#include <utility>

#include "core/expr/readers.h"

namespace pinnace::expr {
namespace {

class BinaryReader final : public MessageReader {
 public:
    bool read_fields(std::span<const std::byte>, const FieldSet& set, FieldValues& values) override {
        values.reset(set);
        values.finish();
        return true;
    }
    bool has_fields() const override { return false; }
};

class CompositeReader final : public MessageReader {
 public:
    CompositeReader(std::unique_ptr<MessageReader> header, std::size_t header_size)
        : header_(std::move(header)), header_size_(header_size) {}

    bool read_fields(std::span<const std::byte> body, const FieldSet& set, FieldValues& values) override {
        std::size_t begin = 0;
        std::size_t size = header_size_;
        if (header_size_ == 0) {
            begin = kLengthSize;
            if (body.size() >= kLengthSize) size = length_of(body);
        }
        if (body.size() < begin || body.size() - begin < size) {
            values.reset(set);
            return false;
        }
        return header_->read(body.subspan(begin, size), set, values);
    }

 private:
    static constexpr std::size_t kLengthSize = 4;

    // Big-endian, in front of the header.
    static std::size_t length_of(std::span<const std::byte> body) {
        std::size_t length = 0;
        for (std::size_t i = 0; i < kLengthSize; ++i)
            length = length << 8 | std::to_integer<std::size_t>(body[i]);
        return length;
    }

    std::unique_ptr<MessageReader> header_;
    std::size_t header_size_;
};

}  // namespace

std::unique_ptr<MessageReader> make_binary_reader() { return std::make_unique<BinaryReader>(); }

std::unique_ptr<MessageReader> make_composite_reader(std::unique_ptr<MessageReader> header,
                                                     std::size_t header_size) {
    return std::make_unique<CompositeReader>(std::move(header), header_size);
}

}  // namespace pinnace::expr
