/* SPDX-License-Identifier: MIT
 *
 * clock.h - units of time.  Clocks count nanoseconds as uint64_t; limits and messages to clients are
 * in milliseconds. */
#ifndef LLAMAD_CORE_BASE_CLOCK_H
#define LLAMAD_CORE_BASE_CLOCK_H

#define LMI_NS_PER_MS 1000000ull

#endif /* LLAMAD_CORE_BASE_CLOCK_H */
