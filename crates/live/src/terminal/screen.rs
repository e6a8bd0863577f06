//! Draws a run on a whole screen: head, times and operations, criteria and notes.

use plan::number;
use plan::printable::printable;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Axis, Block, Borders, Cell, Chart, Dataset, Gauge, GraphType, Paragraph, Row, Table,
};
use record::WindowSpan;

use crate::second::Known;
use crate::view::{PartShown, RunView, SECONDS, SecondShown};

/// A terminal with fewer columns or lines has a line instead.
pub const LEAST: (u16, u16) = (80, 24);

/// Operations in the table, and criteria below it.
const CRITERIA: usize = 4;
/// Beside this width, the table of operations has the failures' share.
const WIDE: u16 = 110;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, view: &RunView) {
    let criteria = u16::try_from(view.criteria.len().min(CRITERIA)).unwrap_or(0);
    let [head, phase, body, standing, notes, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(2),
        Constraint::Min(8),
        Constraint::Length(if criteria > 0 { criteria + 1 } else { 0 }),
        Constraint::Length(5),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(title(view), head);
    draw_phase(frame, phase, view);
    let [times, operations] =
        Layout::horizontal([Constraint::Percentage(44), Constraint::Percentage(56)]).areas(body);
    draw_times(frame, times, view);
    draw_operations(frame, operations, view);
    frame.render_widget(standings(view, usize::from(standing.width)), standing);
    frame.render_widget(noted(view, notes.height), notes);
    let mut foot = "q or Ctrl-C: end the run in order".to_owned();
    view.link.iter().for_each(|link| foot.push_str(&format!(" · {link}")));
    frame.render_widget(Line::from(foot).dim(), keys);
}

fn title(view: &RunView) -> Line<'_> {
    let verdict = match (view.criteria.is_empty(), view.is_lost()) {
        (true, _) => Span::from("no criterion").dim(),
        (false, true) => Span::from("can no longer pass").red().bold(),
        (false, false) => Span::from("open").green().bold(),
    };
    Line::from(vec![Span::from(printable(&view.title)).bold(), Span::from("  "), verdict])
}

fn draw_phase(frame: &mut Frame<'_>, area: Rect, view: &RunView) {
    let [bar, generator] = Layout::vertical([Constraint::Length(1); 2]).areas(area);
    let mut label = view.phase_text();
    let place = view.place_text();
    if !place.is_empty() {
        label.push_str(&format!(" · {place}"));
    }
    let gauge = Gauge::default().ratio(view.phase_share().unwrap_or(0.0)).label(label);
    frame.render_widget(gauge.gauge_style(Style::new().fg(Color::Blue).bg(Color::Black)), bar);
    let text = Line::from(view.generator_text());
    let is_late = view.is_late();
    frame.render_widget(if is_late { text.yellow() } else { text.dim() }, generator);
}

fn draw_times(frame: &mut Frame<'_>, area: Rect, view: &RunView) {
    let [rates, chart] = Layout::vertical([Constraint::Length(4), Constraint::Min(4)]).areas(area);
    frame.render_widget(Paragraph::new(last_second(view)), rates);
    // Quantiles by their place among those of a second; the last line is drawn on top.
    let lines = [(3, "max", Color::DarkGray), (2, "p99", Color::Yellow), (0, "p50", Color::Cyan)];
    let points = lines.map(|(place, ..)| points(view, place));
    let values: Vec<f64> = points.iter().flatten().map(|(_, y)| *y).collect();
    let Some(low) = values.iter().copied().reduce(f64::min).map(f64::floor) else { return };
    let high = values.into_iter().fold(low + 1.0, f64::max).ceil();
    let what = match view.span() {
        WindowSpan::ResponseTime => "response time",
        _ => "service time",
    };
    let last = view.seconds.keys().next_back().map_or(0.0, |at| *at as f64);
    let ends = [(last - SECONDS as f64 + 1.0).max(0.0), last.max(1.0)];
    // Bounds of criteria, where they are among the values.
    let limits = view.limits().map(|(_, ns)| ns.log10()).filter(|y| (low..=high).contains(y));
    let limits: Vec<[(f64, f64); 2]> = limits.map(|y| [(ends[0], y), (ends[1], y)]).collect();
    let line = |points, colour, marker| {
        let set = Dataset::default().data(points).style(Style::new().fg(colour));
        set.marker(marker).graph_type(GraphType::Line)
    };
    let limits = limits.iter().map(|ends| line(ends.as_slice(), Color::Red, Marker::Dot));
    let times = lines.iter().zip(&points);
    let times = times.map(|((.., colour), points)| line(points, *colour, Marker::Braille));
    let sets = limits.chain(times);
    let mut legend = vec![Span::from(what)];
    legend.extend(
        lines.iter().rev().map(|(_, name, colour)| Span::from(format!(" {name}")).fg(*colour)),
    );
    if view.limits().next().is_some() {
        legend.push(Span::from(" • bound").red());
    }
    let decades = [low, f64::midpoint(low, high), high];
    let decades = decades.map(|y| Line::from(number::duration(10f64.powf(y) as u64)));
    let widget = Chart::new(sets.collect())
        .block(Block::new().borders(Borders::TOP).title(Line::from(legend)))
        .legend_position(None)
        .x_axis(Axis::default().bounds(ends).labels(ends.map(|at| format!("{at:.0} s"))))
        .y_axis(Axis::default().bounds([low, high]).labels(decades));
    frame.render_widget(widget, chart);
}

/// Seconds, and the logarithm of nanoseconds.
fn points(view: &RunView, place: usize) -> Vec<(f64, f64)> {
    let point = |second: &SecondShown| {
        let ns = second.quantiles[place].drawn().filter(|ns| *ns > 0)?;
        Some((second.at as f64, (ns as f64).log10()))
    };
    view.seconds.values().filter_map(point).collect()
}

/// What was due in the last second that is over, and what has become of it.
fn last_second(view: &RunView) -> Vec<Line<'static>> {
    let Some(second) = view.last_second() else { return Vec::new() };
    let rate = view.progress.finished_rate.map_or_else(|| "–".to_owned(), number::rate);
    let in_flight = view.in_flight_text();
    let flight = match in_flight.split_once(',') {
        Some((count, waiting)) => format!("{count} in flight,{waiting}"),
        None => format!("{in_flight} in flight"),
    };
    let names = ["p50", "p95", "p99", "max"];
    let times: Vec<String> = names
        .iter()
        .zip(second.quantiles)
        .map(|(name, known)| format!("{name} {}", known.shown()))
        .collect();
    vec![
        Line::from(format!("planned {}/s, done {rate}", number::count(second.planned))),
        Line::from(flight),
        Line::from(times[..2].join("  ")),
        Line::from(times[2..].join("  ")),
    ]
}

fn draw_operations(frame: &mut Frame<'_>, area: Rect, view: &RunView) {
    let mut rest = area;
    if !view.tables.is_empty() && area.height > 12 {
        let parts = u16::try_from(view.shown.len()).unwrap_or(u16::MAX).saturating_add(2);
        let [above, below] = Layout::vertical([
            Constraint::Length(parts.clamp(3, area.height / 2)),
            Constraint::Fill(1),
        ])
        .areas(area);
        rest = above;
        draw_earlier(frame, below, &view.tables);
    }
    frame.render_widget(operations(view, rest), rest);
}

/// As many tables as there is room for; of the last one the newest rows.
fn draw_earlier(frame: &mut Frame<'_>, area: Rect, tables: &[pages::tables::Table]) {
    let mut left = area;
    for table in tables {
        if left.height < 3 {
            return;
        }
        let rows = u16::try_from(table.rows.len()).unwrap_or(u16::MAX).saturating_add(2);
        let [own, below] =
            Layout::vertical([Constraint::Length(rows.min(left.height)), Constraint::Fill(1)])
                .areas(left);
        frame.render_widget(earlier(table, usize::from(own.height - 2)), own);
        left = below;
    }
}

fn operations(view: &RunView, area: Rect) -> Table<'static> {
    let is_wide = area.width > WIDE / 2;
    let figures = 7 + 8 + 8 + if is_wide { 15 } else { 6 } + 4;
    let room = usize::from(area.width.saturating_sub(figures + 1));
    let row = |part: &PartShown| {
        let share = number::percent(part.failed() as f64 / part.planned.max(1) as f64);
        let failed = match is_wide && part.failed() > 0 {
            true => format!("{} ({share})", number::count(part.failed())),
            false => number::count(part.failed()),
        };
        let [p50, p99] = part.quantiles.map(Known::shown);
        let name = without_middle(&printable(&part.name), room);
        let style = if part.failed() > 0 { Style::new().fg(Color::Red) } else { Style::new() };
        Row::new(right_aligned([name, number::count(part.succeeded), p50, p99, failed]))
            .style(style)
    };
    let mut rows: Vec<Row<'static>> = view.shown.iter().map(row).collect();
    let journeys = view.head.as_ref().map_or(rows.len(), |head| head.operations.len());
    if journeys < rows.len() {
        rows.insert(journeys, Row::new([Cell::from("journeys").dim()]));
    }
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(7),
        Constraint::Length(8),
        Constraint::Length(8),
        Constraint::Length(if is_wide { 15 } else { 6 }),
    ];
    let head = ["operation", "done", "p50", "p99", "failed"].map(str::to_owned);
    Table::new(rows, widths)
        .header(Row::new(right_aligned(head)).style(Style::new().add_modifier(Modifier::DIM)))
        .block(Block::new().borders(Borders::LEFT))
}

/// The text in so many columns: what is alike among long names is mostly at their beginning.
fn without_middle(text: &str, room: usize) -> String {
    let length = text.chars().count();
    if length <= room || room < 5 {
        return text.to_owned();
    }
    let (begin, end) = ((room - 1) / 2, room - 1 - (room - 1) / 2);
    let begin = text.chars().take(begin);
    begin.chain(['…']).chain(text.chars().skip(length - end)).collect()
}

/// The first cell is a name, the others are figures.
fn right_aligned<const N: usize>(cells: [String; N]) -> [Cell<'static>; N] {
    let mut place = 0;
    cells.map(|cell| {
        place += 1;
        let line = Line::from(cell);
        Cell::from(if place == 1 { line } else { line.right_aligned() })
    })
}

/// What earlier trials say, with so many rows at most.
fn earlier(table: &pages::tables::Table, most: usize) -> Table<'static> {
    let cell = |text: &str, figure: bool| {
        let line = Line::from(printable(text).into_owned());
        Cell::from(if figure { line.right_aligned() } else { line })
    };
    let figures = || table.columns.iter().map(|column| column.figures);
    let shown = &table.rows[table.rows.len().saturating_sub(most)..];
    let rows = shown
        .iter()
        .map(|row| Row::new(row.iter().zip(figures()).map(|(text, figure)| cell(text, figure))));
    let head = table.columns.iter().map(|column| cell(&column.title, column.figures));
    let width = |place: usize| {
        let cells = shown.iter().filter_map(|row| row.get(place));
        let titles = std::iter::once(&table.columns[place].title);
        let widest = cells.chain(titles).map(|text| text.chars().count()).max().unwrap_or(0);
        match place + 1 == table.columns.len() {
            true => Constraint::Fill(1),
            false => Constraint::Length(u16::try_from(widest).unwrap_or(u16::MAX)),
        }
    };
    let title = printable(&table.title).into_owned();
    Table::new(rows, (0..table.columns.len()).map(width))
        .header(Row::new(head).style(Style::new().add_modifier(Modifier::DIM)))
        .block(Block::new().borders(Borders::LEFT | Borders::TOP).title(title))
}

fn standings(view: &RunView, width: usize) -> Paragraph<'static> {
    let mut lines = vec![Line::from("criteria").dim()];
    let hidden = view.criteria.len().saturating_sub(CRITERIA);
    for one in view.criteria.iter().take(CRITERIA) {
        let name = without_middle(&printable(&one.criterion), width / 3);
        let name = Span::from(format!("  {name}  "));
        let state = match &one.lost {
            Some(why) => Span::from(format!("cannot be met any more: {}", printable(why))).red(),
            None => Span::from(printable(&one.seen).into_owned()).dim(),
        };
        lines.push(Line::from(vec![name, state]));
    }
    if hidden > 0 {
        lines[0] = Line::from(format!("criteria (and {hidden} more)")).dim();
    }
    Paragraph::new(lines)
}

fn noted(view: &RunView, height: u16) -> Paragraph<'static> {
    let room = usize::from(height.saturating_sub(1));
    let skipped = view.notes.len().saturating_sub(room);
    let notes = view.notes.iter().skip(skipped);
    let lines = notes.map(|note| Line::from(printable(note).into_owned()));
    Paragraph::new(lines.collect::<Vec<_>>())
        .block(Block::new().borders(Borders::TOP).title("notes"))
}
