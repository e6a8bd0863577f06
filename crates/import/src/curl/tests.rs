use super::*;
use crate::write;

/// The line `http = …` of the only operation.
#[track_caller]
fn check(command: &str, expected: &str) {
    let draft = read(command, &Options::default()).unwrap();
    assert_eq!(draft.notes, [], "{command}");
    let written = write(&draft, "test");
    let line = written.lines().find(|line| line.starts_with("http")).expect("an operation");
    assert_eq!(line, expected, "{command}");
}

#[test]
fn options_are_those_of_curl() {
    check("curl http://h/a", "http   = { path = \"/a\" }");
    check(
        "curl -XPUT h:8080/a -da=1 -d b",
        "http   = { method = \"PUT\", path = \"/a\", \
        header = { content-type = \"application/x-www-form-urlencoded\" }, body = \"a=1&b\" }",
    );
    check("curl -sSfLd a=1 h", "http   = { path = \"/\", form = { a = \"1\" }, follow = 50 }");
    check("curl --request=PATCH --url h/a", "http   = { method = \"PATCH\", path = \"/a\" }");
    check("curl -I h/a -o x -w '%{http_code}'", "http   = { method = \"HEAD\", path = \"/a\" }");
    check(
        "curl -G -d a=1 --data-urlencode 'b=c d' 'h/a?z=0'",
        "http   = { path = \"/a\", query = { z = \"0\", a = \"1\", b = \"c d\" } }",
    );
    check(
        "curl --json '[1]' h",
        "http   = { path = \"/\", header = { accept = \"application/json\" }, json = [1] }",
    );
    check(
        "curl -u ada: h",
        "http   = { path = \"/\", auth = { basic = { user = \"{{env.API_KEY}}\", password = \"\" } } }",
    );
    check(
        "curl http://ada:x@h/",
        "http   = { path = \"/\", auth = { basic = { user = \"ada\", password = \"{{env.PASSWORD}}\" } } }",
    );
    check("curl --http2 h -H 'Content-Length: 5' -H 'Host: h'", "http2  = { path = \"/\" }");
    check(
        "curl h -F a=b -F 'c=@d.png;type=image/png' --form-string 'e=@f'",
        "http   = { path = \"/\", multipart = { a = \"b\", c = { file = \"d.png\", type = \"image/png\" }, e = \"@f\" } }",
    );
    check(
        "curl -b a=1 -b 'b=2; c=3' h",
        "http   = { path = \"/\", header = { cookie = \"{{env.COOKIE}}\" } }",
    );
    check(
        "curl h -d @x.bin -H 'content-type: image/png'",
        "http   = { path = \"/\", header = { content-type = \"image/png\" }, body_file = \"x.bin\" }",
    );
}

#[test]
fn what_cannot_be_taken_over_is_noted_with_its_line() {
    let text = "curl h -d @a -d b\n\ncurl \"$X\"\ncurl ftp://h/\nwget h\ncurl\ncurl h --frobnicate\ncurl 'h/{a,b}'\ncurl h -F 'a=<b'";
    let draft = read(text, &Options::default()).unwrap();
    let notes: Vec<_> = draft.notes.iter().map(|note| (note.line, note.what.as_str())).collect();
    assert_eq!(
        notes,
        [
            (Some(1), "a body of a file and something else is left out"),
            (Some(3), "the shell would replace a part of \"$X\"; write its value"),
            (Some(3), "only the shell knows the address $X"),
            (Some(4), "\"ftp://h/\" is no address of http or https"),
            (Some(5), "wget is no command of curl"),
            (Some(6), "a curl without an address"),
            (Some(7), "the option --frobnicate is left out"),
            (Some(8), "curl makes several requests of h/{a,b}; here it is one"),
            (Some(9), "a: the part is sent with the name of its file, which curl leaves out"),
        ]
    );
    let names: Vec<_> = draft.operations.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["root", "root_2", "a_b", "root_3"]);
}

#[test]
fn no_credential_is_written() {
    let text = "curl 'http://h/a?api_key=s3cret-1' -H 'Authorization: Bearer s3cret-2' -H 'X-Api-Key: s3cret-3' \
        -b 'sid=s3cret-4' --json '{\"a\":null,\"password\":\"s3cret-5\"}'\ncurl -u a:s3cret-6 h -d 'pwd=s3cret-7' \
        --header 'Authorization: Digest s3cret-8' --oauth2-bearer s3cret-9 # s3cret-1";
    let draft = read(text, &Options::default()).unwrap();
    let written = write(&draft, "test");
    assert!(!written.contains("s3cret"), "{written}");
    assert_eq!(draft.credentials.names().count(), 9, "{written}");
}

#[test]
fn only_requests_to_wanted_hosts_are_taken() {
    let wanted = |host: &str| Options { hosts: vec![host.to_owned()] };
    let text = "curl http://a.example/1; curl http://b.example:81/2";
    for (host, name) in [("a.example", "1"), ("b.example", "2"), ("b.example:81", "2")] {
        let draft = read(text, &wanted(host)).unwrap();
        let paths: Vec<_> = draft.operations.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, [format!("/{name}")]);
    }
    assert_eq!(read(text, &wanted("example")).unwrap().operations, []);
}

#[test]
fn a_credential_is_found_in_every_form_of_a_body() {
    for command in [
        "curl h -F password=s3cret-1",
        "curl h --form-string token=s3cret-1",
        "curl h -d 'password=s3cret-1&flag'",
        "curl h -H 'content-type: text/plain' -d 'password=s3cret-1'",
        "curl h --json '{\"password\": \"s3cret-1\",}'",
        "curl h --json '{\"query\":\"{ login(password: \\\"s3cret-1\\\") { id } }\",\"v\":null}'",
        "curl h -H 'content-type: text/xml' -d '<password>s3cret-1</password>'",
        "curl h -H 'content-type: multipart/form-data; boundary=b' --data-raw $'--b\\r\\nContent-Disposition: form-data; \
         name=\"password\"\\r\\n\\r\\ns3cret-1\\r\\n--b--\\r\\n'",
        "curl -u s3cret-1: h",
        "curl http://s3cret-1@h/",
        "curl h -e 'http://h/?token=s3cret-1'",
        "curl h --cert c.pem:s3cret-1",
        "curl h -H 'Authorization;s3cret-1'",
        "curl h --proxy-user bob:s3cret-1",
        "curl h; curl http://bob:s3cret-1@h:99999/",
        "curl h; curl http://bob:s3cret-1@$H/",
    ] {
        let draft = read(command, &Options::default()).unwrap();
        let text = format!("{}{:?}", write(&draft, "test"), draft.notes);
        assert!(!text.contains("s3cret-1"), "{command}\n{text}");
        assert!(!draft.operations.is_empty(), "{command}");
    }
}

#[test]
fn nothing_of_the_source_is_a_placeholder() {
    for command in [
        "curl -X '{{env.X}}' h",
        "curl -F 'f=@{{env.X}};type={{env.X}}/x' h",
        "curl h; curl 'http://{{env.x}}:8080/'",
        "curl --cacert '{{env.X}}' --unix-socket '{{{{env.X}}' h -d '@{{env.X}}'",
        "curl -u 'u:zzzzz{{{' -H 'content-type: text/plain' --data-raw 'zzzzz{{{env.X}}' http://h/",
        "curl 'h/{{env.X}}?{{env.X}}={{env.X}}' -H 'a: {{env.X}}' -H '{{env.X}}: a' --json '{\"{{env.X}}\": \"{{env.X}}\"}'",
    ] {
        let draft = read(command, &Options::default()).unwrap();
        let mut written = write(&draft, "{{env.X}}.sh");
        // Keys of tables are no templates, and comments are nothing.
        written = written.lines().filter(|line| !line.starts_with('#')).collect();
        for quoted in ["'{{{{env.X}}' =", "\"{{{{env.X}}\" =", "\"{{env.X}}\" ="] {
            written = written.replace(quoted, "");
        }
        assert!(!crate::variables(&written).contains(&"X"), "{command}\n{written}");
    }
}

#[test]
fn the_value_of_an_option_is_no_address() {
    for option in
        ["--proto =https", "--pass x", "--url-query a=b", "--unheard-of x", "--proxy-user a:b"]
    {
        let draft = read(&format!("curl http://h/ {option}"), &Options::default()).unwrap();
        assert_eq!(draft.operations[0].origin, "http://h", "{option}");
        assert_eq!(draft.operations.len(), 1, "{option}");
    }
}
