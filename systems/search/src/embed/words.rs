//! What a text's words are: for the embedding, and for the playbook.

/// Hands on the words of a text one after another, lower-cased.
///
/// A word is a longest run of letters and numbers of any script, and of the accents that follow their letter
/// (U+0300 to U+036F). Texts are taken as they are coded: é as one character and é as two are not the same.
/// The buffer is cleared before each word and saves an allocation.
pub fn each(text: &str, buffer: &mut Vec<char>, mut take: impl FnMut(&[char])) {
    buffer.clear();
    for character in text.chars() {
        if character.is_ascii_alphanumeric() {
            buffer.push(character.to_ascii_lowercase());
        } else if !character.is_ascii() && is_of_a_word(character) {
            buffer.extend(character.to_lowercase());
        } else if !buffer.is_empty() {
            take(buffer);
            buffer.clear();
        }
    }
    if !buffer.is_empty() {
        take(buffer);
    }
}

fn is_of_a_word(character: char) -> bool {
    character.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&character)
}

#[cfg(test)]
mod tests;
