// SPDX-License-Identifier: Apache-2.0
#include "core/name_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace pinnace {

struct NamePattern::Code {
    pcre2_code* code = nullptr;
    pcre2_match_data* data = nullptr;
};

void NamePattern::Free::operator()(Code* code) const {
    pcre2_match_data_free(code->data);
    pcre2_code_free(code->code);
    delete code;
}

std::expected<NamePattern, std::string> NamePattern::compile(std::string_view text) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF,
                                     &error, &offset, nullptr);
    if (code == nullptr) {
        PCRE2_UCHAR buffer[256] = {};
        pcre2_get_error_message(error, buffer, sizeof buffer);
        return std::unexpected("column " + std::to_string(offset + 1) + ": " +
                               reinterpret_cast<const char*>(buffer));
    }
    auto* whole = new Code{code, pcre2_match_data_create_from_pattern(code, nullptr)};
    return NamePattern(whole);
}

bool NamePattern::matches(std::string_view name) const {
    return pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0, 0, code_->data,
                       nullptr) >= 0;
}

}  // namespace pinnace
