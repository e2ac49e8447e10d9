"""What a job counted, as one self-contained HTML page: the tables of `crossrail run --report`."""

from html import escape
from typing import List, Sequence

from crossrail.report.call_reports import CallSummary, JobReport
from crossrail.report.call_tables import (CALL_HEADINGS, CALL_WORDS, COMPARISON_EXPLANATION, COMPARISON_HEADINGS, COMPARISON_WORDS, NOTHING, OVERLAP_EXPLANATION, OVERLAP_HEADINGS, OVERLAP_WORDS, call_rows,
                                          comparison_rows, heading, overlap_rows, warnings)
from crossrail.report.page import STYLE
from crossrail.report.time_line_chart import LINE_STYLE, time_line_figure
from crossrail.report.time_share import (REASON_HEADINGS, REASON_WORDS, SHARE_EXPLANATION, SHARE_HEADINGS, SHARE_WORDS, reason_rows, run_time, shared_line,
                                         share_rows)
from crossrail.sizes import format_count, format_size

BAR_STYLE = """
.bar { display: inline-block; height: 12px; border-radius: 3px; background: var(--c0); vertical-align: middle; }
p.wide, td.wide { white-space: normal; } td.bars { width: 60%; text-align: left; }
"""


def html_table(headings: Sequence[str], rows: List[List[str]], words: Sequence[int]) -> str:
    """A table of text; the columns numbered in `words` are words, the others numbers."""
    kinds = [' class="word"' if number in words else "" for number in range(len(headings))]
    head = "".join(f"<th{kind}>{escape(text)}</th>" for kind, text in zip(kinds, headings))
    body = "".join("<tr>" + "".join(f"<td{kind}>{escape(text)}</td>" for kind, text in zip(kinds, row)) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'


def histogram(call: CallSummary) -> str:
    """A bar for every size of block."""
    largest = max(call.histogram.values())
    rows = "".join(f'<tr><td>up to {format_size(bound)}</td><td class="bars"><span class="bar" style="width: {max(1, round(100 * count / largest))}%">'
                   f"</span></td><td>{format_count(count)}</td></tr>" for bound, count in sorted(call.histogram.items()))
    return (f"<h2>{escape(call.name)} ({escape(call.interface)}): size of a block</h2>"
            f'<p class="faint">From one rank to one other; calls of all processes.</p><table>{rows}</table>')


def first_look(report: JobReport) -> List[str]:
    """How long the run was, what part of it was exchanges, and when."""
    time, line = run_time(report), shared_line(report)
    parts = [f"<p>{escape(sentence)}</p>" for sentence in (time.sentences() if time and report.calls else [])]
    return parts + ([time_line_figure(line)] if line else [])


def call_sections(report: JobReport) -> List[str]:
    """Counts, times and reasons."""
    if not report.calls:
        return []
    parts = ['<h2>Calls of each process</h2><p class="faint">A range where processes differ; native: left to the MPI library.</p>',
             html_table(CALL_HEADINGS, call_rows(report), CALL_WORDS)]
    shares, reasons = share_rows(report), reason_rows(report)
    if shares:
        parts.append(f'<h2>Time in calls</h2><p class="faint">{escape(SHARE_EXPLANATION)}</p>' + html_table(SHARE_HEADINGS, shares, range(SHARE_WORDS)))
    if reasons:
        parts.append("<h2>Why calls were native</h2>" + html_table(REASON_HEADINGS, reasons, REASON_WORDS))
    return parts


def render_calls(report: JobReport) -> str:
    """The whole page."""
    parts = [f'<p class="bad">{escape(text)}</p>' for text in warnings(report)]
    if not report.processes:
        parts.append(f'<p class="bad">{escape(NOTHING)}</p>')
    parts += first_look(report) + call_sections(report)
    rows = overlap_rows(report)
    if rows:
        parts.append(f'<h2>Nonblocking and persistent calls</h2><p class="faint">{escape(OVERLAP_EXPLANATION)}</p>')
        parts.append(html_table(OVERLAP_HEADINGS, rows, range(OVERLAP_WORDS)))
    compared = comparison_rows(report)
    if compared:
        parts.append(f'<h2>Compared with the MPI library</h2><p class="faint">{escape(COMPARISON_EXPLANATION)}</p>')
        parts.append(html_table(COMPARISON_HEADINGS, compared, range(COMPARISON_WORDS)))
    parts += [histogram(call) for call in report.calls if call.histogram and call.bytes]
    return ('<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f"<title>crossrail: calls of a job</title><style>{STYLE}{BAR_STYLE}{LINE_STYLE}</style></head><body><h1>Calls of a job</h1>"
            f"<p>{escape(heading(report))}</p>{''.join(parts)}</body></html>\n")
