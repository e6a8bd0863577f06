//! Chat completions on the wire: what a request asks for, and the bytes of its answer.
//!
//! Not here: when they are written. The README has the form of an answer.

use serde::Deserialize;
use serde_json::json;

use crate::answer::{Last, render_head};

/// The text of every token.
const TOKEN: &str = "tok";
const STREAM: &str = "content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n";

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletionRequest {
    /// The most tokens that the answer may have.
    pub limit: Option<u64>,
    /// Whether tokens are sent one by one.
    pub streamed: bool,
    /// Whether a stream ends with an event that counts the tokens.
    pub usage: bool,
    /// Tokens of the prompt: a quarter of the body's bytes, rounded up.
    pub prompt_tokens: u64,
}

/// The fields of a body that have an effect; others are ignored.
#[derive(Deserialize)]
struct Body {
    max_tokens: Option<u64>,
    max_completion_tokens: Option<u64>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

impl CompletionRequest {
    /// Reads a body in the form of OpenAI's chat completions. No body asks for a stream.
    ///
    /// Errors: one sentence about what is wrong
    pub fn parse(body: &[u8]) -> Result<Self, String> {
        let prompt_tokens = (body.len() as u64).div_ceil(4);
        if body.is_empty() {
            return Ok(Self { limit: None, streamed: true, usage: false, prompt_tokens });
        }
        let body: Body = serde_json::from_slice(body)
            .map_err(|error| format!("the body is not a chat completion request: {error}"))?;
        let limit = body.max_tokens.into_iter().chain(body.max_completion_tokens).min();
        if limit == Some(0) {
            return Err("max_tokens must be at least 1 (got 0)".to_owned());
        }
        let usage = body.stream_options.and_then(|options| options.include_usage);
        Ok(Self {
            limit,
            streamed: body.stream.unwrap_or(false),
            usage: usage.unwrap_or(false),
            prompt_tokens,
        })
    }

    fn usage_field(&self, tokens: u64) -> String {
        let (prompt, total) = (self.prompt_tokens, self.prompt_tokens + tokens);
        format!(
            r#""usage":{{"prompt_tokens":{prompt},"completion_tokens":{tokens},"total_tokens":{total}}}"#
        )
    }
}

/// The answer to a request of another method than POST. HEAD may have no body, so it has none.
pub fn refused_method(last: Last) -> Vec<u8> {
    render_head(405, "allow: POST\r\ncontent-length: 0\r\n", last)
}

/// The answer to a body that cannot be used.
pub fn refused_body(problem: &str, last: Last) -> Vec<u8> {
    let body = json!({"error": {"message": problem, "type": "invalid_request_error"}}).to_string();
    json_answer(400, &body, last)
}

fn json_answer(code: u16, body: &str, last: Last) -> Vec<u8> {
    let lines = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    let mut bytes = render_head(code, &lines, last);
    bytes.extend(body.as_bytes());
    bytes
}

/// What is written at the instant of each token, rendered before the first is due.
///
/// All tokens between the first and the last share their bytes, so a long answer needs no more
/// memory than a short one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenWrites {
    count: u64,
    first: Vec<u8>,
    between: Vec<u8>,
    last: Vec<u8>,
}

impl TokenWrites {
    /// A stream: an event a token, then the end of the answer in the write of the last token.
    ///
    /// Shape:  `number` is the request's, from 1 on
    pub fn stream(request: &CompletionRequest, number: u64, tokens: u64, last: Last) -> Self {
        let mut end = chunk(&finish_event(number));
        if request.usage {
            let usage = format!(r#""choices":[],{}"#, request.usage_field(tokens));
            end += &chunk(&event(number, &usage));
        }
        end += &chunk("data: [DONE]\n\n");
        end += "0\r\n\r\n";
        Self::events(number, tokens, &end, last)
    }

    /// A stream of which this many tokens are sent, and then half of the event that comes next.
    pub fn cut_stream(number: u64, tokens: u64, cut_after: u64, last: Last) -> Self {
        let next = if cut_after < tokens { token_event(number, 1) } else { finish_event(number) };
        let half = format!("{:x}\r\n{}", next.len(), &next[..next.len() / 2]);
        Self::events(number, cut_after, &half, last)
    }

    /// An answer in one piece, written when the last token is due.
    pub fn whole(request: &CompletionRequest, number: u64, tokens: u64, last: Last) -> Self {
        let content = TOKEN.repeat(tokens as usize);
        let usage = request.usage_field(tokens);
        let body = format!(
            r#"{{"id":"chatcmpl-{number}","object":"chat.completion","created":0,"model":"truth","choices":[{{"index":0,"message":{{"role":"assistant","content":"{content}"}},"finish_reason":"stop"}}],{usage}}}"#
        );
        let bytes = json_answer(200, &body, last);
        Self { count: tokens, first: Vec::new(), between: Vec::new(), last: bytes }
    }

    fn events(number: u64, count: u64, end: &str, last: Last) -> Self {
        let mut first = render_head(200, STREAM, last);
        first.extend(chunk(&token_event(number, 0)).as_bytes());
        let between = chunk(&token_event(number, 1)).into_bytes();
        let mut last = if count == 1 { first.clone() } else { between.clone() };
        last.extend(end.as_bytes());
        Self { count, first, between, last }
    }

    /// Number of tokens.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What to write at the instant of the `index`-th token, from 0 on; maybe nothing.
    pub fn of_token(&self, index: u64) -> &[u8] {
        if index + 1 == self.count {
            &self.last
        } else if index == 0 {
            &self.first
        } else {
            &self.between
        }
    }
}

fn token_event(number: u64, index: u64) -> String {
    let role = if index == 0 { r#""role":"assistant","# } else { "" };
    event(
        number,
        &format!(
            r#""choices":[{{"index":0,"delta":{{{role}"content":"{TOKEN}"}},"finish_reason":null}}]"#
        ),
    )
}

fn finish_event(number: u64) -> String {
    event(number, r#""choices":[{"index":0,"delta":{},"finish_reason":"stop"}]"#)
}

fn event(number: u64, fields: &str) -> String {
    format!(
        "data: {{\"id\":\"chatcmpl-{number}\",\"object\":\"chat.completion.chunk\",\"created\":0,\"model\":\"truth\",{fields}}}\n\n"
    )
}

fn chunk(event: &str) -> String {
    format!("{:x}\r\n{event}\r\n", event.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(body: &str) -> CompletionRequest {
        CompletionRequest::parse(body.as_bytes()).unwrap()
    }

    #[test]
    fn only_what_has_an_effect_is_read() {
        let request = parsed(
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,
                "stream_options":{"include_usage":true,"other":1},"max_tokens":7,"n":3}"#,
        );
        assert_eq!((request.limit, request.streamed, request.usage), (Some(7), true, true));
        let both = parsed(r#"{"max_tokens":9,"max_completion_tokens":8}"#);
        assert_eq!((both.limit, both.streamed, both.usage), (Some(8), false, false));
        let null = parsed(r#"{"max_tokens":null,"stream":null,"stream_options":null}"#);
        assert_eq!((null.limit, null.streamed), (None, false));
    }

    #[test]
    fn no_body_asks_for_a_stream() {
        assert!(parsed("").streamed);
        assert!(!parsed("{}").streamed);
    }

    #[test]
    fn a_prompt_has_a_token_for_four_bytes() {
        assert_eq!([parsed("").prompt_tokens, parsed("{}").prompt_tokens], [0, 1]);
        assert_eq!(parsed("{  }\n").prompt_tokens, 2);
    }

    #[test]
    fn other_bodies_are_refused() {
        for body in ["no", "[]", "{\"stream\":1}", "{\"max_tokens\":-1}", "{\"max_tokens\":0}"] {
            assert!(CompletionRequest::parse(body.as_bytes()).is_err(), "{body}");
        }
        let refused = refused_body("a \"word\"", Last::No);
        let text = String::from_utf8(refused).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("\r\ncontent-length: {}", body.len())), "{head}");
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"]["message"], "a \"word\"");
    }

    #[test]
    fn a_long_stream_needs_no_more_memory_than_a_short_one() {
        let request = parsed("");
        let short = TokenWrites::stream(&request, 1, 3, Last::No);
        let long = TokenWrites::stream(&request, 1, 100_000, Last::No);
        assert_eq!(long, TokenWrites { count: 100_000, ..short });
        assert_eq!(long.of_token(1), long.of_token(99_998));
    }

    #[test]
    fn a_single_token_is_the_first_and_the_last() {
        let writes = TokenWrites::stream(&parsed(""), 1, 1, Last::Yes);
        let text = String::from_utf8(writes.of_token(0).to_vec()).unwrap();
        assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("connection: close\r\n"));
        assert!(
            text.contains("\"role\":\"assistant\"") && text.ends_with("[DONE]\n\n\r\n0\r\n\r\n")
        );
    }

    #[test]
    fn a_cut_stream_ends_within_the_event_that_comes_next() {
        for (tokens, next) in [(4, "\"content\""), (1, "\"delta\":{}")] {
            let cut_after = (tokens / 2).max(1);
            let writes = TokenWrites::cut_stream(1, tokens, cut_after, Last::No);
            assert_eq!(writes.count(), cut_after);
            let end = String::from_utf8(writes.of_token(cut_after - 1).to_vec()).unwrap();
            let (_, part) = end.rsplit_once("\r\n").unwrap();
            assert!(part.starts_with("data: {\"id\"") && !part.contains(next), "{part}");
        }
    }
}
