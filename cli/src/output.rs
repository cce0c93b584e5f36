//! Prints data to stdout, and everything else to stderr, in cargo's style.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};

use clap::ColorChoice;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use mcp_bindgen_model::printable;
use serde_json::{Value, json};

use crate::args::{Arguments, Command, Format};
use crate::exit::{Exit, Failure, Result};

const GREEN: &str = "\x1b[1;32m";
const YELLOW: &str = "\x1b[1;33m";
const RED: &str = "\x1b[1;31m";
const PLAIN: &str = "\x1b[0m";
/// The beginning of a command of GitHub's older runners, wherever in a line.
const OLD_COMMAND: &str = "##[";

/// The two streams.
pub(crate) struct Output {
    pub(crate) format: Format,
    data_on_terminal: bool,
    colours: bool,
    pub(crate) is_quiet: bool,
    is_verbose: bool,
    /// `true` if a result was printed, or if stdout carries the protocol of a server.
    has_data: bool,
    /// The errors, if the format is JSON.
    pub(crate) errors: Vec<String>,
    /// The warnings that are printed once, however often they come.
    warned: BTreeSet<String>,
    /// The progress bars on a terminal: whatever else is printed goes above them.
    bars: Option<MultiProgress>,
    /// A line that the next one takes the place of.
    transient: Option<ProgressBar>,
}

impl Output {
    pub(crate) fn standard(arguments: &Arguments) -> Self {
        // Progress bars need a terminal that can move the cursor, and are redundant with `--verbose`.
        let moves = io::stderr().is_terminal() && !is_dumb() && !arguments.quiet && arguments.verbose == 0;
        Self {
            format: arguments.format,
            data_on_terminal: io::stdout().is_terminal(),
            colours: has_colours(arguments.color),
            is_quiet: arguments.quiet,
            is_verbose: arguments.verbose > 0,
            has_data: matches!(&arguments.command, Command::Serve(serve) if serve.http.is_none()),
            errors: Vec::new(),
            warned: BTreeSet::new(),
            bars: moves.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10))),
            transient: None,
        }
    }

    /// Tells that something has begun: on a terminal by a line that is cleared when the bar is dropped, elsewhere by a
    /// line of its own.
    pub(crate) fn begin(&mut self, word: &str, text: &str) -> Option<ProgressBar> {
        let Some(bars) = &self.bars else {
            self.status(word, text);
            return None;
        };
        let head = if self.colours { "{prefix:>12.bold.cyan}" } else { "{prefix:>12}" };
        let bar = spinner(&format!("{head} {{wide_msg}} {{elapsed}}"));
        Some(bars.add(bar.with_prefix(word.to_owned()).with_message(lines_printable(text))))
    }

    pub(crate) fn json(&self) -> bool {
        self.format == Format::Json
    }

    /// Returns `true` if results are for people.
    pub(crate) fn is_text(&self) -> bool {
        self.format == Format::Text
    }

    /// Prints a progress line; its first word is right-aligned.
    pub(crate) fn status(&mut self, word: &str, text: &str) {
        if !self.is_quiet {
            self.remark(GREEN, &format!("{word:>12}"), &format!(" {}", lines_printable(text)));
        }
    }

    pub(crate) fn warning(&mut self, text: &str) {
        self.diagnostic("warning", text);
    }

    /// Warns unless the same was printed before: a command may read its configuration more than once.
    pub(crate) fn warning_once(&mut self, text: &str) {
        if self.warned.insert(text.to_owned()) {
            self.warning(text);
        }
    }

    pub(crate) fn error(&mut self, text: &str) {
        self.diagnostic("error", text);
    }

    /// Prints a diagnostic of its own severity.
    pub(crate) fn diagnostic(&mut self, severity: &str, text: &str) {
        let is_error = severity.starts_with("error");
        if self.is_quiet && !is_error {
            return;
        }
        if is_error && self.json() {
            // Each error is separate in JSON.
            self.errors.extend(text.split("\nerror: ").map(str::to_owned));
        }
        let colour = if is_error { RED } else { YELLOW };
        self.remark(colour, severity, &format!(": {}", lines_printable(text)));
    }

    /// Returns `true` if messages appear on a terminal with progress bars.
    pub(crate) fn is_watched(&self) -> bool {
        self.bars.is_some()
    }

    /// Prints a line that the next one replaces, on a terminal only.
    pub(crate) fn transient(&mut self, text: &str) {
        let Some(bars) = &self.bars else { return };
        let bar = self.transient.get_or_insert_with(|| bars.add(spinner("{wide_msg}")));
        bar.set_message(printable(text));
    }

    /// Removes that line: a bar clears itself when it is dropped.
    pub(crate) fn end_transient(&mut self) {
        self.transient = None;
    }

    /// Says less, or more, or in other colours, from now on.
    pub(crate) fn changes(&mut self, quiet: bool, verbosity: u8, colour: Option<ColorChoice>) -> Result<()> {
        self.is_quiet |= quiet;
        self.is_verbose |= verbosity > 0;
        if self.is_quiet && self.is_verbose {
            return Err(Failure::usage("`--quiet` cannot be used with `--verbose`"));
        }
        if self.is_quiet || self.is_verbose {
            self.bars = None;
        }
        if let Some(colour) = colour {
            self.colours = has_colours(colour);
        }
        Ok(())
    }

    fn remark(&mut self, colour: &str, head: &str, rest: &str) {
        self.end_transient();
        let rest = if is_obeyed() { commanding_nobody(rest) } else { rest.into() };
        let line = if self.colours { format!("{colour}{head}{PLAIN}{rest}") } else { format!("{head}{rest}") };
        self.clear_bars();
        // A message that cannot be printed is not an error.
        let _ = writeln!(io::stderr(), "{line}");
    }

    /// Clears the bars; the next tick draws them again. `suspend` would panic if the terminal is gone.
    fn clear_bars(&self) {
        if let Some(bars) = &self.bars {
            let _ = bars.clear();
        }
    }

    /// Prints a result for people; for machines, `report` prints it. It is unchanged, except for control sequences on a
    /// terminal, and commands if a GitHub runner reads it.
    pub(crate) fn data(&mut self, text: &str) -> io::Result<()> {
        match self.format {
            Format::Json => Ok(()),
            Format::Text | Format::Markdown if !self.data_on_terminal && is_obeyed() => {
                self.exact(&commanding_nobody(text))
            }
            _ => self.exact(text),
        }
    }

    /// Prints code for people, which must not be changed. If a GitHub runner would obey a part of it, it is refused.
    pub(crate) fn code(&mut self, text: &str) -> Result<()> {
        if self.json() {
            return Ok(());
        }
        if is_obeyed() && !self.data_on_terminal && text.contains(OLD_COMMAND) {
            return Err(Failure::new(
                "the output contains `##\\[`, which GitHub runners execute\n  = help: write it to a file, for example \
                 with `-o`",
            ));
        }
        Ok(self.exact(text)?)
    }

    /// Prints a result unchanged, except for control sequences on a terminal.
    pub(crate) fn exact(&mut self, text: &str) -> io::Result<()> {
        let text = if self.data_on_terminal { lines_printable(text).into() } else { Cow::Borrowed(text) };
        self.has_data = true;
        self.clear_bars();
        let mut data = io::stdout();
        match writeln!(data, "{text}").and_then(|()| data.flush()) {
            // The reader has closed the pipe.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }

    /// Appends to the summary of a GitHub job, if the program runs in one; others may have written there before. If
    /// that fails, the result does not change.
    pub(crate) fn job_summary(&mut self, text: &str) {
        let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else { return };
        let opened = std::fs::OpenOptions::new().append(true).create(true).open(&path);
        if let Err(error) = opened.and_then(|mut file| file.write_all(text.as_bytes())) {
            let path = std::path::Path::new(&path).display();
            self.warning(&format!(
                "failed to write the job summary: {error}\n --> {path}\n  = help: the path comes from \
                 GITHUB_STEP_SUMMARY"
            ));
        }
    }

    /// Prints a failure as JSON, if JSON is requested and no result was printed.
    pub(crate) fn end(&mut self, exit: Exit) {
        if self.json() && exit != Exit::Done && !self.has_data {
            // If the JSON cannot be printed, only the exit code reports the failure.
            drop(self.data_json(&failure_json(exit, &self.errors)));
        }
    }

    /// Prints JSON in any format.
    pub(crate) fn data_json(&mut self, value: &Value) -> io::Result<()> {
        self.json_text(&format!("{value:#}"))
    }

    /// Prints a result as JSON, if JSON is wanted.
    pub(crate) fn report(&mut self, value: &Value) -> io::Result<()> {
        if self.json() { self.data_json(value) } else { Ok(()) }
    }

    /// Prints the result of a command that succeeded as JSON, if JSON is wanted.
    pub(crate) fn done(&mut self, value: &Value) -> Result<Exit> {
        self.report(value)?;
        Ok(Exit::Done)
    }

    /// Prints an error that does not end the command, and returns its exit code.
    pub(crate) fn failure(&mut self, failure: &Failure) -> Exit {
        self.error(&failure.message);
        failure.exit
    }

    /// Returns the value, or prints the error that does not end the command and adds its exit code.
    pub(crate) fn settled<T>(&mut self, outcome: Result<T>, exits: &mut Vec<Exit>) -> Option<T> {
        outcome.map_err(|failure| exits.push(self.failure(&failure))).ok()
    }

    /// Prints JSON, in which no line begins with text of a server. If a GitHub runner reads it, a bracket that it would
    /// obey is escaped.
    pub(crate) fn json_text(&mut self, text: &str) -> io::Result<()> {
        if is_obeyed() { self.exact(&text.replace(OLD_COMMAND, "##\\u005b")) } else { self.exact(text) }
    }
}

/// Returns a failure without a result as JSON.
pub(crate) fn failure_json(exit: Exit, errors: &[String]) -> Value {
    json!({ "format": 1, "exit": exit as u8, "errors": errors })
}

/// Adds the members of a JSON object behind those of another.
pub(crate) fn joined(mut one: Value, other: Value) -> Value {
    if let (Value::Object(one), Value::Object(other)) = (&mut one, other) {
        one.extend(other);
    }
    one
}

/// Returns a JSON object of the members that have a value.
pub(crate) fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    members.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

/// Returns a bar without an end, with this template.
fn spinner(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner());
    ProgressBar::new_spinner().with_style(style)
}

/// Decides on colours like the library below clap: NO_COLOR, CLICOLOR_FORCE, CLICOLOR, and then the terminal.
fn has_colours(wanted: ColorChoice) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match wanted {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if is_set("NO_COLOR") => false,
        ColorChoice::Auto if is_set("CLICOLOR_FORCE") => true,
        ColorChoice::Auto if std::env::var_os("CLICOLOR").is_some_and(|value| value == "0") => false,
        ColorChoice::Auto => io::stderr().is_terminal() && !is_dumb(),
    }
}

/// Returns `true` if the terminal can do nothing but print.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}

/// Returns `true` if a GitHub runner reads the output.
pub(crate) fn is_obeyed() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Escapes commands of runners with a backslash.
pub(crate) fn commanding_nobody(text: &str) -> Cow<'_, str> {
    without_commands(text, "\\:", "\\[")
}

/// Escapes untrusted text for HTML, between tags or in quotes. Runners see no command in it either.
pub(crate) fn markup(text: &str) -> String {
    const ESCAPES: [(&str, &str); 5] = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")];
    let text = ESCAPES.iter().fold(lines_printable(text), |text, (character, escape)| text.replace(character, escape));
    without_commands(&text, "&#58;", "&#91;").into_owned()
}

/// Runners look behind leading blanks for `::`, and anywhere for the older `##[`: another colon and bracket make neither
/// of it.
fn without_commands<'t>(text: &'t str, colon: &str, bracket: &str) -> Cow<'t, str> {
    if !text.contains("::") && !text.contains(OLD_COMMAND) {
        return Cow::Borrowed(text);
    }
    let line = |line: &str| {
        let line = line.replace(OLD_COMMAND, &format!("##{bracket}"));
        let rest = line.trim_start();
        match (line.strip_suffix(rest), rest.strip_prefix(':')) {
            (Some(blanks), Some(rest)) if rest.starts_with(':') => format!("{blanks}{colon}{rest}"),
            _ => line,
        }
    };
    // A carriage return ends a line for them as well.
    Cow::Owned(text.split_inclusive(['\n', '\r']).map(line).collect())
}

/// Makes untrusted text printable, line by line.
pub(crate) fn lines_printable(text: &str) -> String {
    text.split('\n')
        .map(|line| line.split('\t').map(printable).collect::<Vec<_>>().join("\t"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workflow_commands_are_escaped() {
        let said = "::stop-commands::x\n  ::add-mask::y\nfine :: here\r::error::a\r\n::b\n\r \r::c\nx ##[add-mask]z\n";
        let safe = "\\::stop-commands::x\n  \\::add-mask::y\nfine :: here\r\\::error::a\r\n\\::b\n\r \r\\::c\nx ##\\[add-mask]z\n";
        assert_eq!(commanding_nobody(said), safe);
        assert_eq!(commanding_nobody("plain"), "plain");
    }
}
