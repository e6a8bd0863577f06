//! The screen of a terminal, on a thread of its own.

pub mod screen;

use std::io::{self, Stderr, stderr};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

use plan::plan::Plan;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event as Input, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use tokio::sync::mpsc::error::TryRecvError;

use crate::audience::{Audience, Queue};
use crate::view::RunView;
use screen::{LEAST, draw};

/// Time between two looks at keys and news.
const LOOK: Duration = Duration::from_millis(50);
/// Time between two frames, at least.
const FRAME: Duration = Duration::from_millis(100);
/// A terminal that takes no output is given up after so long.
const LEFT_WITHIN: Duration = Duration::from_secs(1);

/// The screen of a run.
#[derive(Debug)]
pub struct Screen {
    /// What it gets.
    pub audience: Audience,
    left: Receiver<()>,
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
    /// Takes over the terminal. `link` is where browsers see the run; `stop` is called for each request of the user to
    /// stop.
    ///
    /// Errors: it cannot be taken over
    pub fn start(
        plan: &Arc<Plan>,
        link: Option<String>,
        stop: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let terminal = take_over()?;
        let (audience, mut queue) = Audience::new();
        let (done, left) = channel();
        let mut view = RunView::new(plan);
        view.link = link;
        let started = thread::Builder::new().name("screen".to_owned()).spawn(move || {
            let mut viewer = Viewer { view, terminal, stop: Box::new(stop) };
            // A terminal that is gone takes no frames; the run goes on.
            let _ = viewer.show(&mut queue);
            give_back();
            let _ = done.send(());
        });
        started.inspect_err(|_| give_back())?;
        Ok(Self { audience, left })
    }

    /// Gives the terminal back. Returns how much the screen missed; `None` if the terminal takes nothing any more, so that
    /// whoever writes to it now waits, too.
    pub fn leave(self) -> Option<u64> {
        let missed = self.audience.missed();
        drop(self.audience);
        self.left.recv_timeout(LEFT_WITHIN).is_ok().then_some(missed)
    }
}

/// The thread of the screen.
struct Viewer {
    view: RunView,
    terminal: Terminal<CrosstermBackend<Stderr>>,
    stop: Box<dyn Fn() + Send>,
}

impl Viewer {
    /// Draws what changes until nothing more comes.
    fn show(&mut self, queue: &mut Queue) -> io::Result<()> {
        let (mut due, mut is_stale) = (Instant::now(), true);
        loop {
            loop {
                match queue.try_recv() {
                    Ok(news) => self.view.take(&news),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Ok(()),
                }
                is_stale = true;
            }
            if is_stale && Instant::now() >= due {
                self.view.refresh();
                self.terminal.draw(|frame| draw(frame, &self.view))?;
                (due, is_stale) = (Instant::now() + FRAME, false);
            }
            if event::poll(LOOK)? {
                let input = event::read()?;
                is_stale |= matches!(input, Input::Resize(..));
                if is_end(&input) {
                    (self.stop)();
                }
            }
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
