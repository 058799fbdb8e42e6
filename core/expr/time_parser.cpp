// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/expr/calendar.h"
#include "core/expr/lexer.h"

namespace pinnace::expr {
namespace {

// Reads a text by a format, from the left.
class TimeParser {
 public:
    explicit TimeParser(std::string_view text) : text_(text) {}

    bool read(std::string_view format) {
        for (std::size_t i = 0; i < format.size(); ++i) {
            if (is_blank(format[i])) {
                skip_blanks();
            } else if (format[i] == '%' && i + 1 < format.size()) {
                const char directive = format[++i];
                const std::string_view longer = long_form(directive);
                if (longer.empty() ? !read_directive(directive) : !read(longer)) return false;
            } else if (!take(format[i])) {
                return false;
            }
        }
        return true;
    }

    // Seconds since 1970; NULL if the text went on or the day does not exist.
    Value finish() const {
        if (!text_.empty()) return {};
        std::int64_t seconds = epoch_;
        if (!has_epoch_) {
            std::int64_t hour = hour_;
            if (is_twelve_hours_) hour = hour % 12 + (is_afternoon_ ? 12 : 0);
            const Date date{year_, month_, day_};
            if (!exists(date)) return {};
            const bool has_day_of_year = day_of_year_ > 0;
            const std::int64_t days =
                has_day_of_year ? days_until({year_, 1, 1}) + day_of_year_ - 1 : days_until(date);
            seconds = days * kDaySeconds + hour * 3600 + minute_ * 60 + second_ - offset_;
        }
        if (micros_ == 0) return Value::integer(seconds);
        return Value::real(static_cast<double>(seconds) + static_cast<double>(micros_) / 1e6);
    }

 private:
    static bool is_blank(char character) {
        return std::string_view(" \t\n\r").find(character) != std::string_view::npos;
    }
    static bool is_digit(char character) { return character >= '0' && character <= '9'; }

    void skip_blanks() {
        while (!text_.empty() && is_blank(text_[0])) text_.remove_prefix(1);
    }
    bool take(char character) {
        if (text_.empty() || text_[0] != character) return false;
        text_.remove_prefix(1);
        return true;
    }
    // A whole number of at most `digit_count` digits, from `least` to `most`.
    bool take_number(std::int64_t* number, int digit_count, std::int64_t least, std::int64_t most) {
        std::int64_t value = 0;
        int count = 0;
        for (; count < digit_count && !text_.empty() && is_digit(text_[0]); ++count) {
            value = value * 10 + (text_[0] - '0');
            text_.remove_prefix(1);
        }
        *number = value;
        return count > 0 && value >= least && value <= most;
    }
    // A name, whole or its first three letters, in any case.
    template <std::size_t kCount>
    bool take_name(const std::array<std::string_view, kCount>& names, std::int64_t* number) {
        for (std::size_t i = 0; i < kCount; ++i) {
            for (const std::string_view name : {names[i], names[i].substr(0, 3)}) {
                if (!equal_in_any_case(text_.substr(0, name.size()), name)) continue;
                text_.remove_prefix(name.size());
                *number = static_cast<std::int64_t>(i);
                return true;
            }
        }
        return false;
    }

    bool read_directive(char directive) {
        std::int64_t ignored = 0;
        switch (directive) {
            case 'Y':
                return take_number(&year_, 4, 1, 9999);
            case 'y': {
                if (!take_number(&year_, 2, 0, 99)) return false;
                year_ += year_ < 69 ? 2000 : 1900;
                return true;
            }
            case 'm':
                return take_number(&month_, 2, 1, 12);
            case 'e':
                skip_blanks();
                return take_number(&day_, 2, 1, 31);
            case 'd':
                return take_number(&day_, 2, 1, 31);
            case 'j':
                return take_number(&day_of_year_, 3, 1, 366);
            case 'H':
                return take_number(&hour_, 2, 0, 23);
            case 'I':
                is_twelve_hours_ = true;
                return take_number(&hour_, 2, 1, 12);
            case 'M':
                return take_number(&minute_, 2, 0, 59);
            case 'S':
                return take_number(&second_, 2, 0, 60);
            case 'a':
            case 'A':
                return take_name(kDayNames, &ignored);
            case 'b':
            case 'B':
            case 'h': {
                if (!take_name(kMonthNames, &month_)) return false;
                ++month_;
                return true;
            }
            case 'f':
                return read_fraction();
            case 'p':
                return read_half();
            case 's':
                has_epoch_ = true;
                return read_epoch();
            case 'z':
                return read_offset();
            case 'Z':
                return take('Z') || (text_.starts_with("UTC") || text_.starts_with("GMT") ? skip(3) : false);
            case 'n':
            case 't':
                skip_blanks();
                return true;
            default:
                return take(directive);  // also %%
        }
    }

    bool skip(std::size_t count) {
        text_.remove_prefix(count);
        return true;
    }
    // Up to six digits after a point; further ones are read and cut.
    bool read_fraction() {
        std::int64_t unit = 100'000;
        std::size_t count = 0;
        for (; !text_.empty() && is_digit(text_[0]); ++count) {
            micros_ += unit * (text_[0] - '0');
            unit /= 10;
            text_.remove_prefix(1);
        }
        return count > 0;
    }
    bool read_half() {
        const std::string_view half = text_.substr(0, 2);
        is_afternoon_ = equal_in_any_case(half, "PM");
        if (!is_afternoon_ && !equal_in_any_case(half, "AM")) return false;
        return skip(2);
    }
    bool read_epoch() {
        const bool is_negative = take('-');
        if (!take_number(&epoch_, 15, 0, INT64_MAX)) return false;
        epoch_ = is_negative ? -epoch_ : epoch_;
        return true;
    }
    // +hhmm, +hh:mm or Z
    bool read_offset() {
        if (take('Z')) return true;
        const bool is_west = !text_.empty() && text_[0] == '-';
        if (!is_west && !text_.starts_with('+')) return false;
        text_.remove_prefix(1);
        std::int64_t hours = 0;
        std::int64_t minutes = 0;
        if (!take_number(&hours, 2, 0, 23)) return false;
        take(':');
        if (!take_number(&minutes, 2, 0, 59)) return false;
        offset_ = (hours * 60 + minutes) * (is_west ? -60 : 60);
        return true;
    }

    std::string_view text_;
    std::int64_t year_ = 1970;
    std::int64_t month_ = 1;
    std::int64_t day_ = 1;
    std::int64_t day_of_year_ = 0;  // 0: not given
    std::int64_t hour_ = 0;
    std::int64_t minute_ = 0;
    std::int64_t second_ = 0;
    std::int64_t micros_ = 0;
    std::int64_t offset_ = 0;  // of the zone, in seconds east of Greenwich
    std::int64_t epoch_ = 0;
    bool has_epoch_ = false;
    bool is_twelve_hours_ = false;
    bool is_afternoon_ = false;
};

}  // namespace

Value parse_time(std::string_view text, std::string_view format) {
    TimeParser parser(text);
    if (!parser.read(format)) return {};
    return parser.finish();
}

}  // namespace pinnace::expr
