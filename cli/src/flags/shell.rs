//! Quotes arguments for shells.

/// A command line of POSIX shells.
pub(crate) fn command_line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=@%+,".contains(character);
    // `=` at the start is a path in zsh.
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn what_shells_read_is_quoted() {
        let words = ["call", "--labels", "a b", "", "it's", "$HOME", "--x:=[1]", "--x:=null", "a=b"];
        let line = r"call --labels 'a b' '' 'it'\''s' '$HOME' '--x:=[1]' --x:=null a=b";
        assert_eq!(command_line(words), line);
    }
}
