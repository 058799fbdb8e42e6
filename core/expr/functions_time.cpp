// SPDX-License-Identifier: Apache-2.0
// Times: always UTC, always the English names, whatever the process's locale and zone.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/expr/calendar.h"
#include "core/expr/function_bodies.h"
#include "core/expr/number.h"
#include "core/expr/text_builder.h"

namespace pinnace::expr::bodies {
namespace {

constexpr double kSecondsMax = 253'402'300'800.0;  // the year 10000
constexpr double kSecondsMin = -62'135'596'800.0;  // the year 1

// A moment taken apart.
struct Moment {
    std::int64_t seconds = 0;  // since 1970
    std::int64_t micros = 0;
    Date date;
    std::int64_t of_day = 0;  // seconds
    std::int64_t day_of_year = 0;
    std::int64_t weekday = 0;  // 0: Sunday

    explicit Moment(double time) {
        const double whole = std::floor(time);
        seconds = static_cast<std::int64_t>(whole);
        // The nearest microsecond: a double of seconds today holds no more than a quarter of one.
        micros = std::min<std::int64_t>(std::llround((time - whole) * 1e6), 999'999);
        of_day = ((seconds % kDaySeconds) + kDaySeconds) % kDaySeconds;
        const std::int64_t day = (seconds - of_day) / kDaySeconds;
        date = date_of(day);
        day_of_year = day - days_until({date.year, 1, 1}) + 1;
        weekday = ((day + 4) % 7 + 7) % 7;  // 1970 began on a Thursday
    }
};

void append_padded(TextBuilder& out, std::int64_t number, int width, char pad) {
    std::array<char, 24> digits;
    std::size_t at = digits.size();
    do {
        digits[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (digits.size() - at < static_cast<std::size_t>(width)) digits[--at] = pad;
    out.append(std::string_view(digits.data() + at, digits.size() - at));
}

// False: no directive of ours.
bool append_date(TextBuilder& out, const Moment& moment, char directive) {
    const auto [year, month, day] = moment.date;
    const std::string_view month_name = kMonthNames[static_cast<std::size_t>(month - 1)];
    const std::string_view day_name = kDayNames[static_cast<std::size_t>(moment.weekday)];
    switch (directive) {
        case 'Y':
            append_padded(out, year, 4, '0');
            return true;
        case 'y':
            append_padded(out, year % 100, 2, '0');
            return true;
        case 'm':
            append_padded(out, month, 2, '0');
            return true;
        case 'd':
            append_padded(out, day, 2, '0');
            return true;
        case 'e':
            append_padded(out, day, 2, ' ');
            return true;
        case 'j':
            append_padded(out, moment.day_of_year, 3, '0');
            return true;
        case 'B':
            out.append(month_name);
            return true;
        case 'b':
        case 'h':
            out.append(month_name.substr(0, 3));
            return true;
        case 'A':
            out.append(day_name);
            return true;
        case 'a':
            out.append(day_name.substr(0, 3));
            return true;
        case 'u':
            append_padded(out, moment.weekday == 0 ? 7 : moment.weekday, 1, '0');
            return true;
        case 'w':
            append_padded(out, moment.weekday, 1, '0');
            return true;
        default:
            return false;
    }
}

bool append_time(TextBuilder& out, const Moment& moment, char directive) {
    const std::int64_t hour = moment.of_day / 3600;
    switch (directive) {
        case 'H':
            append_padded(out, hour, 2, '0');
            return true;
        case 'I':
            append_padded(out, (hour + 11) % 12 + 1, 2, '0');
            return true;
        case 'M':
            append_padded(out, moment.of_day / 60 % 60, 2, '0');
            return true;
        case 'S':
            append_padded(out, moment.of_day % 60, 2, '0');
            return true;
        case 'f':
            append_padded(out, moment.micros, 6, '0');
            return true;
        case 'p':
            out.append(hour < 12 ? "AM" : "PM");
            return true;
        case 'z':
            out.append("+0000");
            return true;
        case 'Z':
            out.append("UTC");
            return true;
        case 's':
            if (moment.seconds < 0) out.append('-');
            append_padded(out, std::abs(moment.seconds), 1, '0');
            return true;
        case 'n':
            out.append('\n');
            return true;
        case 't':
            out.append('\t');
            return true;
        case '%':
            out.append('%');
            return true;
        default:
            return false;
    }
}

void append_format(TextBuilder& out, const Moment& moment, std::string_view format) {
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%' || i + 1 == format.size()) {
            out.append(format[i]);
            continue;
        }
        const char directive = format[++i];
        if (const std::string_view longer = long_form(directive); !longer.empty()) {
            append_format(out, moment, longer);
        } else if (!append_date(out, moment, directive) && !append_time(out, moment, directive)) {
            out.append('%');
            out.append(directive);
        }
    }
}

}  // namespace

// STRFTIME(format, seconds); NULL outside the years 1 to 9999.
Value strftime(EvalContext& context, Arguments arguments) {
    const std::string_view format = context.text_of(arguments[0]);
    const double seconds = as_double(number_of(arguments[1]));
    if (!(seconds >= kSecondsMin && seconds < kSecondsMax)) return {};
    TextBuilder out(context);
    append_format(out, Moment(seconds), format);
    return out.finish();
}

// STRPTIME(text, format): seconds since 1970; NULL if the text as a whole is not of that format.
Value strptime(EvalContext& context, Arguments arguments) {
    return parse_time(context.text_of(arguments[0]), context.text_of(arguments[1]));
}

}  // namespace pinnace::expr::bodies
