// What pages are made of, compiled in.
#ifndef BERTH_RUNTIME_REPORT_ASSETS_H_
#define BERTH_RUNTIME_REPORT_ASSETS_H_

#include <string_view>

namespace berth::report {

// Chart.js as the distribution has it; empty in a build without it.
std::string_view ChartScript();
std::string_view ChartLicence();
// Of every page: looks, and what its scripts share.
std::string_view PageStyle();
std::string_view PageScript();
// Of single pages.
std::string_view CurveScript();

}  // namespace berth::report

#endif  // BERTH_RUNTIME_REPORT_ASSETS_H_
