// A plot of a few lines of text: a shape to see at a glance, not figures to read off.
#ifndef BERTH_RUNTIME_TOOLS_TEXT_PLOT_H_
#define BERTH_RUNTIME_TOOLS_TEXT_PLOT_H_

#include <string>
#include <utility>
#include <vector>

namespace berth::tools {

struct TextSeries {
  char mark = '*';
  std::vector<std::pair<double, double>> points;  // x, y; both at least 0
};

// Axes begin at 0. Where marks meet, the later series' stands.
struct TextPlot {
  double x_max = 1;
  double y_max = 100;
  std::string x_title, y_title;  // with their units
  std::vector<TextSeries> series;

  std::string ToString() const;
};

}  // namespace berth::tools

#endif  // BERTH_RUNTIME_TOOLS_TEXT_PLOT_H_
