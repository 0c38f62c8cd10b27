// Groups numbers by value: a sorting order, and the distinct values.
#ifndef CYNET_SPARSE_GROUPING_H
#define CYNET_SPARSE_GROUPING_H

#include <cstdint>
#include <utility>
#include <vector>

namespace cynet {

enum { DIGIT_BITS = 11 };

struct IndexedNumber {
  int64_t number, place;
};

// Sorts numbers of [0, maximum] with their positions; equal numbers stay in order. A radix sort.
inline std::vector<IndexedNumber> sort_numbers(const int64_t* numbers, int64_t n, int64_t maximum) {
  std::vector<IndexedNumber> from(n), to(n);
  for (int64_t k = 0; k < n; ++k) from[k] = {numbers[k], k};
  const int64_t digits = int64_t(1) << DIGIT_BITS;
  std::vector<int64_t> starts(digits);
  for (int shift = 0; shift < 63 && maximum >> shift; shift += DIGIT_BITS) {
    starts.assign(digits, 0);
    for (const IndexedNumber& each : from) ++starts[each.number >> shift & (digits - 1)];
    int64_t before = 0;
    for (int64_t& start : starts) {
      const int64_t count = start;
      start = before;
      before += count;
    }
    for (const IndexedNumber& each : from) to[starts[each.number >> shift & (digits - 1)]++] = each;
    std::swap(from, to);
  }
  return from;
}

// Groups n nonnegative numbers: `order` sorts them; groups[k] is the group of number k; `rows` has
// the distinct numbers; `starts` their start in `order`. Returns the number of groups.
inline int64_t group_numbers(const int64_t* numbers, int64_t n, int64_t* order, int64_t* groups,
                             int64_t* rows, int64_t* starts) {
  int64_t maximum = 0, count = 0;
  for (int64_t k = 0; k < n; ++k) maximum = numbers[k] > maximum ? numbers[k] : maximum;
  const std::vector<IndexedNumber> sorted = sort_numbers(numbers, n, maximum);
  for (int64_t k = 0; k < n; ++k) {
    if (!k || sorted[k].number != sorted[k - 1].number) {
      rows[count] = sorted[k].number;
      starts[count++] = k;
    }
    order[k] = sorted[k].place;
    groups[sorted[k].place] = count - 1;
  }
  return count;
}

// Computes only `groups` and `rows`, by a table of all `limit` possible numbers.
inline int64_t group_by_table(const int64_t* numbers, int64_t n, int64_t limit, int64_t* groups,
                              int64_t* rows) {
  std::vector<int64_t> table(limit, 0);
  for (int64_t k = 0; k < n; ++k) table[numbers[k]] = 1;
  int64_t count = 0;
  for (int64_t number = 0; number < limit; ++number)
    if (table[number]) {
      rows[count] = number;
      table[number] = count++;
    }
  for (int64_t k = 0; k < n; ++k) groups[k] = table[numbers[k]];
  return count;
}

}  // namespace cynet

#endif
