"""A measurement of one size: a bar for every contender in the place of lines that would be dots."""

from html import escape

from crossrail.report.chart import Chart, format_value
from crossrail.report.chart_style import colour_number


def size_bars(chart: Chart) -> str:
    """The figure. Raises IndexError where a series has no point."""
    largest = max(series.points[0][1] for series in chart.series)
    rows = "".join(f'<tr><th scope="row" class="word">{escape(series.name)}</th><td class="bars"><span class="bar fill c{colour_number(series.colour)}" '
                   f'style="width: {max(1, round(100 * series.points[0][1] / largest))}%"></span></td>'
                   f"<td>{format_value(series.points[0][1], chart.unit)}</td></tr>" for series in chart.series)
    size = chart.size_text(chart.series[0].points[0][0])
    return f'<figure><figcaption>{escape(chart.caption)}, {size}</figcaption><div class="scroll"><table>{rows}</table></div></figure>'
