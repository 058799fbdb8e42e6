// SPDX-License-Identifier: Apache-2.0
// Days and dates of the Gregorian calendar in UTC, and reading a time by a format.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/expr/value.h"

namespace pinnace::expr {

inline constexpr std::int64_t kDaySeconds = 86'400;

inline constexpr std::array<std::string_view, 12> kMonthNames = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
inline constexpr std::array<std::string_view, 7> kDayNames = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                              "Thursday", "Friday", "Saturday"};

struct Date {
    std::int64_t year = 1970;
    std::int64_t month = 1;  // 1 to 12
    std::int64_t day = 1;    // 1 to 31
};

inline bool is_leap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

inline std::int64_t month_length(std::int64_t year, std::int64_t month) {
    constexpr std::array<std::int64_t, 12> kLengths = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return kLengths[static_cast<std::size_t>(month - 1)] + (month == 2 && is_leap(year) ? 1 : 0);
}

inline bool exists(const Date& date) {
    return date.month >= 1 && date.month <= 12 && date.day >= 1 &&
           date.day <= month_length(date.year, date.month);
}

// Days from 1970-01-01 to the first of January of `year`, which is 1 or later.
inline std::int64_t days_until_year(std::int64_t year) {
    constexpr std::int64_t kDaysBefore1970 = 719'162;
    const std::int64_t past = year - 1;
    return past * 365 + past / 4 - past / 100 + past / 400 - kDaysBefore1970;
}

// Days from 1970-01-01 to that date.
inline std::int64_t days_until(const Date& date) {
    std::int64_t days = days_until_year(date.year) + date.day - 1;
    for (std::int64_t month = 1; month < date.month; ++month) days += month_length(date.year, month);
    return days;
}

// The date that many days after 1970-01-01, in the years from 1 on.
inline Date date_of(std::int64_t days) {
    Date date{days / 366 + (days >= 0 ? 1970 : 1969), 1, 1};  // a guess, off by a few years
    while (days_until_year(date.year) > days) --date.year;
    while (days_until_year(date.year + 1) <= days) ++date.year;
    std::int64_t left = days - days_until_year(date.year);
    while (left >= month_length(date.year, date.month)) left -= month_length(date.year, date.month++);
    date.day = left + 1;
    return date;
}

// What a directive of STRFTIME and STRPTIME that stands for several ones stands for; empty: it stands for
// itself.
inline std::string_view long_form(char directive) {
    switch (directive) {
        case 'F':
            return "%Y-%m-%d";
        case 'T':
            return "%H:%M:%S";
        case 'R':
            return "%H:%M";
        case 'D':
            return "%m/%d/%y";
        case 'r':
            return "%I:%M:%S %p";
        case 'c':
            return "%a %b %e %H:%M:%S %Y";
        default:
            return {};
    }
}

// Seconds since 1970 of a text that is as a whole of that format, else NULL.
Value parse_time(std::string_view text, std::string_view format);

}  // namespace pinnace::expr
