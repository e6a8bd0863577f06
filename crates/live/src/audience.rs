//! The screen on a thread of its own. It gets what happens over a bounded queue: where the terminal is slow, it misses
//! some of it, and the run is not delayed.

use std::io::{self, Stderr, stderr};
use std::sync::Once;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use pages::tables::Table;
use plan::plan::Plan;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event as Input, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use record::Window;
use record::event::Event;

use crate::screen::{LEAST, draw};
use crate::view::{RunView, TrialHead};

/// What waits to be shown, at most.
const WAITING: usize = 1_024;
/// Time between two looks at keys and news.
const LOOK: Duration = Duration::from_millis(50);
/// Time between two frames.
const FRAME: Duration = Duration::from_millis(100);
/// A terminal that takes no output is given up after so long.
const LEFT_WITHIN: Duration = Duration::from_secs(1);

/// What a screen gets.
#[derive(Debug)]
enum News {
    /// A trial, and its plan if that is another one.
    Begin(Box<(TrialHead, Option<Plan>)>),
    Event(Event),
    Window(Window),
    Open(Vec<Window>, i64),
    Note(String),
    Tables(Vec<Table>),
}

/// The screen of a run.
#[derive(Debug)]
pub struct Screen {
    news: SyncSender<News>,
    left: Receiver<()>,
    /// The head of a trial that did not fit into the queue: nothing makes sense without it.
    head: Option<Box<(TrialHead, Option<Plan>)>>,
    /// Hash of the plan that the screen has.
    plan: String,
    missed: u64,
}

/// Whether the terminal behind stderr is large enough, of a kind that has a screen, and this process in its foreground:
/// others are stopped when they change its mode.
pub fn fits() -> bool {
    let foreground = rustix::termios::tcgetpgrp(stderr());
    let is_ours = foreground.is_ok_and(|group| group == rustix::process::getpgrp());
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    is_ours
        && !is_dumb
        && size().is_ok_and(|(columns, lines)| columns >= LEAST.0 && lines >= LEAST.1)
}

impl Screen {
    /// Takes over the terminal. `stop` is called for each request of the user to stop.
    ///
    /// Errors: it cannot be taken over
    pub fn start(plan: &Plan, stop: impl Fn() + Send + 'static) -> io::Result<Self> {
        let terminal = take_over()?;
        let (news, coming) = sync_channel(WAITING);
        let (done, left) = channel();
        let (hash, plan) = (plan.hash(), plan.clone());
        let started = thread::Builder::new().name("screen".to_owned()).spawn(move || {
            let mut viewer = Viewer { view: RunView::new(&plan), terminal, stop: Box::new(stop) };
            // A terminal that is gone takes no frames; the run goes on.
            let _ = viewer.show(&coming);
            give_back();
            let _ = done.send(());
        });
        started.inspect_err(|_| give_back())?;
        Ok(Self { news, left, head: None, plan: hash, missed: 0 })
    }

    /// A trial of this plan begins.
    pub fn begin(&mut self, plan: &Plan, head: TrialHead) {
        let hash = plan.hash();
        let other = (hash != self.plan).then(|| plan.clone());
        self.plan = hash;
        self.head = Some(Box::new((head, other)));
        self.send_head();
    }

    /// Something happened.
    pub fn event(&mut self, event: &Event) {
        self.send(News::Event(event.clone()));
    }

    /// A window is complete.
    pub fn window(&mut self, window: &Window) {
        self.send(News::Window(window.clone()));
    }

    /// Windows that are not complete, as they are at this instant of the trial.
    pub fn open(&mut self, windows: Vec<Window>, until_ns: i64) {
        self.send(News::Open(windows, until_ns));
    }

    /// A sentence about what happened.
    pub fn note(&mut self, text: &str) {
        self.send(News::Note(text.to_owned()));
    }

    /// What earlier trials say.
    pub fn tables(&mut self, tables: Vec<Table>) {
        self.send(News::Tables(tables));
    }

    /// Gives the terminal back. Returns how much the screen missed; `None` if the terminal takes nothing any more, so that
    /// whoever writes to it now waits, too.
    pub fn leave(self) -> Option<u64> {
        let Self { news, left, missed, .. } = self;
        drop(news);
        left.recv_timeout(LEFT_WITHIN).is_ok().then_some(missed)
    }

    fn send(&mut self, news: News) {
        self.send_head();
        if self.head.is_some() || self.news.try_send(news).is_err() {
            self.missed += 1;
        }
    }

    fn send_head(&mut self) {
        if let Some(head) = self.head.take()
            && let Err(TrySendError::Full(News::Begin(head))) =
                self.news.try_send(News::Begin(head))
        {
            self.head = Some(head);
        }
    }
}

/// The thread of the screen.
struct Viewer {
    view: RunView,
    terminal: Terminal<CrosstermBackend<Stderr>>,
    stop: Box<dyn Fn() + Send>,
}

impl Viewer {
    /// Draws until nothing more comes.
    fn show(&mut self, coming: &Receiver<News>) -> io::Result<()> {
        let mut due = Instant::now();
        loop {
            loop {
                match coming.try_recv() {
                    Ok(news) => self.take(news),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                }
            }
            if Instant::now() >= due {
                self.view.refresh();
                self.terminal.draw(|frame| draw(frame, &self.view))?;
                due = Instant::now() + FRAME;
            }
            if event::poll(LOOK)? && is_end(&event::read()?) {
                (self.stop)();
            }
        }
    }

    fn take(&mut self, news: News) {
        match news {
            News::Begin(begun) => {
                let (head, plan) = *begun;
                plan.iter().for_each(|plan| self.view.plan(plan));
                self.view.begin(head);
            }
            News::Event(event) => self.view.event(&event),
            News::Window(window) => self.view.window(&window),
            News::Open(windows, until_ns) => self.view.open(windows, until_ns),
            News::Note(text) => self.view.note(&text),
            News::Tables(tables) => self.view.tables = tables,
        }
    }
}

/// `q`, or what would be a signal if the terminal still made signals of keys.
fn is_end(input: &Input) -> bool {
    let Input::Key(key) = input else { return false };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press
        && match key.code {
            KeyCode::Char('q') => key.modifiers.is_empty(),
            KeyCode::Char('c') => control,
            _ => false,
        }
}

fn take_over() -> io::Result<Terminal<CrosstermBackend<Stderr>>> {
    static RESTORED: Once = Once::new();
    // A message about a bug must be readable.
    RESTORED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
    enable_raw_mode()?;
    let screen = execute!(stderr(), EnterAlternateScreen, Hide)
        .and_then(|()| Terminal::new(CrosstermBackend::new(stderr())));
    screen.inspect_err(|_| give_back())
}

fn give_back() {
    // What cannot be restored now cannot be restored at all.
    let _ = disable_raw_mode();
    let _ = execute!(stderr(), LeaveAlternateScreen, Show);
}
