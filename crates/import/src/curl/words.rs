//! Command lines as a shell splits them into words.

use std::iter::Peekable;
use std::str::Chars;

use crate::format::Unreadable;

/// A command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// The line on which it begins, from 1.
    pub(super) line: usize,
    pub(super) words: Vec<Word>,
}

/// A word without its quotes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// The line on which it begins.
    pub(super) line: usize,
    /// Whether a shell would put something in the place of a part of it.
    pub(super) is_expanded: bool,
}

struct Splitter<'a> {
    letters: Peekable<Chars<'a>>,
    line: usize,
    commands: Vec<Command>,
    command: Command,
    /// The word that is being read; `None` between words.
    word: Option<Word>,
}

/// All commands of a text.
///
/// Errors: a quote that is not closed
pub(super) fn commands(text: &str) -> Result<Vec<Command>, Unreadable> {
    let mut splitter = Splitter {
        letters: text.chars().peekable(),
        line: 1,
        commands: Vec::new(),
        command: Command::default(),
        word: None,
    };
    while let Some(letter) = splitter.next() {
        splitter.take(letter)?;
    }
    splitter.end_command();
    Ok(splitter.commands)
}

impl Splitter<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.letters.next()?;
        self.line += usize::from(letter == '\n');
        Some(letter)
    }

    fn take(&mut self, letter: char) -> Result<(), Unreadable> {
        match letter {
            '\'' => self.single_quoted()?,
            '"' => self.double_quoted()?,
            '$' if self.letters.peek() == Some(&'\'') => {
                self.next();
                self.ansi_quoted()?;
            }
            // A prompt that was copied with the command.
            '$' | '%' if self.word.is_none() && self.letters.peek() == Some(&' ') => {}
            '\\' => match self.next() {
                Some('\n') | None => {}
                Some('\r') if self.letters.peek() == Some(&'\n') => {
                    self.next();
                }
                Some(escaped) => self.push(escaped),
            },
            '\n' | ';' | '|' | '&' => self.end_command(),
            '#' if self.word.is_none() => {
                while self.letters.next_if(|one| *one != '\n').is_some() {}
            }
            blank if blank.is_whitespace() => self.end_word(),
            '$' | '`' => {
                self.push(letter);
                self.expanded();
            }
            other => self.push(other),
        }
        Ok(())
    }

    fn word(&mut self) -> &mut Word {
        let line = self.line;
        self.word.get_or_insert_with(|| Word { line, ..Word::default() })
    }

    fn push(&mut self, letter: char) {
        self.word().text.push(letter);
    }

    fn expanded(&mut self) {
        self.word().is_expanded = true;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if self.command.words.is_empty() {
            self.command.line = word.line;
        }
        self.command.words.push(word);
    }

    fn end_command(&mut self) {
        self.end_word();
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() {
            self.commands.push(command);
        }
    }

    fn single_quoted(&mut self) -> Result<(), Unreadable> {
        let begin = self.line;
        self.word();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(letter) => self.push(letter),
                None => return Err(unclosed(begin, '\'')),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<(), Unreadable> {
        let begin = self.line;
        self.word();
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => self.push(escaped),
                    Some(other) => {
                        self.push('\\');
                        self.push(other);
                    }
                    None => return Err(unclosed(begin, '"')),
                },
                Some(letter) => {
                    self.push(letter);
                    let begins_name = |next: &char| next.is_alphanumeric() || "_{(".contains(*next);
                    if letter == '`'
                        || (letter == '$' && self.letters.peek().is_some_and(begins_name))
                    {
                        self.expanded();
                    }
                }
                None => return Err(unclosed(begin, '"')),
            }
        }
    }

    /// `$'…'`, in which browsers write what holds a quote or a line end.
    fn ansi_quoted(&mut self) -> Result<(), Unreadable> {
        let begin = self.line;
        self.word();
        loop {
            let letter = match self.next() {
                Some('\'') => return Ok(()),
                Some('\\') => match self.next() {
                    Some('n') => '\n',
                    Some('r') => '\r',
                    Some('t') => '\t',
                    Some('x') => self.code(2, 16),
                    Some('u') => self.code(4, 16),
                    Some('U') => self.code(8, 16),
                    Some(digit @ '0'..='7') => self.octal(digit),
                    Some(other) => other,
                    None => return Err(unclosed(begin, '\'')),
                },
                Some(letter) => letter,
                None => return Err(unclosed(begin, '\'')),
            };
            self.push(letter);
        }
    }

    /// A letter by its number, of at most so many digits.
    fn code(&mut self, digits: usize, radix: u32) -> char {
        let mut number = 0;
        for _ in 0..digits {
            let Some(digit) = self.letters.next_if(|next| next.is_digit(radix)) else { break };
            number = number * radix + digit.to_digit(radix).unwrap_or_default();
        }
        char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    fn octal(&mut self, first: char) -> char {
        let mut number = first.to_digit(8).unwrap_or_default();
        for _ in 0..2 {
            let Some(digit) = self.letters.next_if(|next| next.is_digit(8)) else { break };
            number = number * 8 + digit.to_digit(8).unwrap_or_default();
        }
        char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

fn unclosed(line: usize, quote: char) -> Unreadable {
    Unreadable::new(line, format!("the quote {quote} that begins here is not closed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&[&str]]) {
        let commands = commands(text).unwrap();
        let words =
            |command: &Command| command.words.iter().map(|word| word.text.clone()).collect();
        let words: Vec<Vec<String>> = commands.iter().map(words).collect();
        assert_eq!(words, expected, "{text}");
    }

    #[test]
    fn words_are_those_of_a_shell() {
        check(
            "curl a 'b c' \"d \\\" \\n $ e\"f g\\ h",
            &[&["curl", "a", "b c", "d \" \\n $ ef", "g h"]],
        );
        check(
            "curl \\\n  -X POST\ncurl b; curl c && curl d | jq .",
            &[
                &["curl", "-X", "POST"],
                &["curl", "b"],
                &["curl", "c"],
                &["curl", "d"],
                &["jq", "."],
            ],
        );
        check(
            "$ curl $'it\\'s\\n\\x41\\u00e9\\101' # a comment 'here\n",
            &[&["curl", "it's\nAéA"]],
        );
        check("curl ''", &[&["curl", ""]]);
        check(" \n\n", &[]);
    }

    #[test]
    fn a_command_knows_its_line_and_what_a_shell_would_replace() {
        let commands = commands("# x\ncurl \"$URL/a\" '$b' \"$ 5\" `c`").unwrap();
        assert_eq!(commands[0].line, 2);
        let expanded = commands[0].words.iter().filter(|word| word.is_expanded);
        assert_eq!(expanded.map(|word| word.text.as_str()).collect::<Vec<_>>(), ["$URL/a", "`c`"]);
    }

    #[test]
    fn a_quote_that_is_not_closed_is_named_with_its_line() {
        for text in ["curl\n'a\n", "curl\n\"a\\", "curl\n$'a"] {
            assert_eq!(commands(text).unwrap_err().line, Some(2), "{text:?}");
        }
    }
}
