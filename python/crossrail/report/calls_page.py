"""What a job counted, as one self-contained HTML page: the tables of `crossrail run --report`."""

from html import escape
from typing import List

from crossrail.report.call_reports import CallSummary, JobReport
from crossrail.report.call_tables import (CALL_HEADINGS, CALL_WORDS, COMPARISON_EXPLANATION, COMPARISON_HEADINGS, COMPARISON_WORDS, NO_CALL, NOTHING, OVERLAP_EXPLANATION, OVERLAP_HEADINGS, OVERLAP_WORDS,
                                          TRAFFIC_EXPLANATION, TRAFFIC_HEADINGS, TRAFFIC_WORDS, call_rows, comparison_rows, heading, more_plans, overlap_rows, traffic_rows, warnings)
from crossrail.report.document import document, html_table
from crossrail.report.size_words import size_words
from crossrail.report.time_line_chart import time_line_figure
from crossrail.report.time_share import (REASON_HEADINGS, REASON_WORDS, SHARE_EXPLANATION, SHARE_HEADINGS, SHARE_WORDS, reason_rows, run_time, shared_line,
                                         share_rows)
from crossrail.sizes import format_count, format_size


def histogram(call: CallSummary) -> str:
    """A bar for every size of block."""
    largest = max(call.histogram.values())
    rows = "".join(f'<tr><td>up to {format_size(bound)}</td><td class="bars"><span class="bar fill c0" style="width: {max(1, round(100 * count / largest))}%">'
                   f"</span></td><td>{format_count(count)}</td></tr>" for bound, count in sorted(call.histogram.items()))
    return (f"<h2>{escape(call.name)} ({escape(call.interface)}): sizes</h2>"
            f'<p class="faint">{size_words(call.name).capitalize()}; calls of all processes.</p><table>{rows}</table>')


def first_look(report: JobReport) -> List[str]:
    """How long the run was, what part of it was exchanges, and when."""
    time, line = run_time(report), shared_line(report)
    parts = [f"<p>{escape(sentence)}</p>" for sentence in (time.sentences() if time and report.calls else [])]
    return parts + ([time_line_figure(line)] if line else [])


def call_sections(report: JobReport) -> List[str]:
    """Counts, times and reasons."""
    if not report.calls:
        return [f"<p>{NO_CALL}</p>"] if report.processes else []
    parts = ['<h2>Calls of each process</h2><p class="faint">A range where processes differ; native: left to the MPI library.</p>',
             html_table(CALL_HEADINGS, call_rows(report), CALL_WORDS)]
    shares, reasons = share_rows(report), reason_rows(report)
    if shares:
        parts.append(f'<h2>Time in calls</h2><p class="faint">{escape(SHARE_EXPLANATION)}</p>' + html_table(SHARE_HEADINGS, shares, range(SHARE_WORDS)))
    if reasons:
        parts.append("<h2>Why calls were native</h2>" + html_table(REASON_HEADINGS, reasons, REASON_WORDS))
    return parts


def traffic_section(report: JobReport) -> List[str]:
    """What was moved."""
    if not report.traffic:
        return []
    return [f'<h2>What crossrail moved</h2><p class="faint">{escape(TRAFFIC_EXPLANATION)}</p>',
            html_table(TRAFFIC_HEADINGS, traffic_rows(report), range(TRAFFIC_WORDS)), f'<p class="faint">{more_plans(report)}</p>' * bool(more_plans(report))]


def render_calls(report: JobReport) -> str:
    """The whole page."""
    parts = [f'<p class="bad">{escape(text)}</p>' for text in warnings(report)]
    if not report.processes:
        parts.append(f'<p class="bad">{escape(NOTHING)}</p>')
    parts += first_look(report) + call_sections(report) + traffic_section(report)
    rows = overlap_rows(report)
    if rows:
        parts.append(f'<h2>Nonblocking and persistent calls</h2><p class="faint">{escape(OVERLAP_EXPLANATION)}</p>')
        parts.append(html_table(OVERLAP_HEADINGS, rows, range(OVERLAP_WORDS)))
    compared = comparison_rows(report)
    if compared:
        parts.append(f'<h2>Compared with the MPI library</h2><p class="faint">{escape(COMPARISON_EXPLANATION)}</p>')
        parts.append(html_table(COMPARISON_HEADINGS, compared, range(COMPARISON_WORDS)))
    parts += [histogram(call) for call in report.calls if call.histogram and call.bytes]
    return document("Calls of a job", [f"<p>{escape(heading(report))}</p>", *parts], "crossrail: calls of a job")
