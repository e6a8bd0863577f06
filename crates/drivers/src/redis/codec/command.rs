//! Commands: an array of bulk strings.

/// Appends the head of a command with so many words.
pub fn begin(words: usize, out: &mut Vec<u8>) {
    length(b'*', words, out);
}

/// Appends a word of a command.
pub fn word(word: &[u8], out: &mut Vec<u8>) {
    length(b'$', word.len(), out);
    out.extend_from_slice(word);
    out.extend_from_slice(b"\r\n");
}

/// A whole command.
pub fn command(words: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    begin(words.len(), &mut out);
    words.iter().for_each(|one| word(one, &mut out));
    out
}

/// Writes a length without formatting, because it stands in each word of each operation.
fn length(mark: u8, length: usize, out: &mut Vec<u8>) {
    const DIGITS: usize = 20;
    out.push(mark);
    let mut digits = [0; DIGITS];
    let mut first = DIGITS;
    let mut left = length;
    loop {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
    out.extend_from_slice(b"\r\n");
}
