use super::*;
use crate::write;

/// A plan with these elements in its tree.
fn plan(tree: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<jmeterTestPlan version=\"1.2\">\n<hashTree>\n<TestPlan testname=\"p\"/>\n<hashTree>\n{tree}\n\
         </hashTree>\n</hashTree>\n</jmeterTestPlan>\n"
    )
}

fn group(users: u32, loops: &str, tree: &str) -> String {
    format!(
        "<ThreadGroup testname=\"g\"><stringProp name=\"ThreadGroup.num_threads\">{users}</stringProp>\
         <elementProp name=\"ThreadGroup.main_controller\"><stringProp name=\"LoopController.loops\">{loops}</stringProp>\
         </elementProp></ThreadGroup><hashTree>{tree}</hashTree>"
    )
}

fn sampler(path: &str, below: &str) -> String {
    format!(
        "<HTTPSamplerProxy testname=\"s\"><stringProp name=\"HTTPSampler.domain\">h</stringProp>\
         <stringProp name=\"HTTPSampler.path\">{path}</stringProp><stringProp name=\"HTTPSampler.method\">GET</stringProp>\
         </HTTPSamplerProxy><hashTree>{below}</hashTree>"
    )
}

fn written(tree: &str) -> (Vec<(Option<usize>, String)>, String) {
    let text = plan(tree);
    assert!(seems(&text));
    let draft = read(&text, &Options::default()).unwrap();
    let written = write(&draft, "test");
    (draft.notes.into_iter().map(|note| (note.line, note.what)).collect(), written)
}

const TAKES_X: &str = "<RegexExtractor testname=\"x\"><stringProp name=\"RegexExtractor.refname\">x</stringProp>\
    <stringProp name=\"RegexExtractor.regex\">x=(.)</stringProp></RegexExtractor><hashTree/>";

#[test]
fn a_variable_of_one_thread_group_is_none_of_another() {
    let many: String = (0..150).map(|_| sampler("/a", TAKES_X)).collect();
    let other = sampler("/${x}", "");
    let (_, written) = written(&(group(1, "2", &many) + &group(3, "2", &other)));
    assert!(written.contains("path = \"/{{env.X}}\""), "{written}");
    assert!(written.contains("users = 4\n"), "{written}");
}

#[test]
fn what_has_no_counterpart_is_listed_with_its_line() {
    let tree = "<SetupThreadGroup testname=\"before\"/>\n<hashTree/>\n<JSR223Sampler testname=\"js\"/>\n<hashTree/>\n\
        <BeanShellSampler testname=\"off\" enabled=\"false\"/>\n<hashTree/>\n<TestFragmentController testname=\"part\"/>\n\
        <hashTree/>\n";
    let (notes, written) = written(&(tree.to_owned() + &group(2, "5", &sampler("/a", ""))));
    let expected = [
        (Some(6), "SetupThreadGroup \"before\" is left out".to_owned()),
        (Some(8), "JSR223Sampler \"js\" is left out".to_owned()),
        (Some(12), "TestFragmentController \"part\" is left out".to_owned()),
    ];
    assert_eq!(notes, expected);
    assert!(written.contains("users = 2\noperations = 10\n"), "{written}");
}

/// The data of a file with one column.
fn data(file: &str, column: &str) -> String {
    format!(
        "<CSVDataSet testname=\"c\"><stringProp name=\"filename\">{file}</stringProp>\
         <stringProp name=\"variableNames\">{column}</stringProp><boolProp name=\"ignoreFirstLine\">true</boolProp>\
         </CSVDataSet><hashTree/>"
    )
}

#[test]
fn data_hold_for_the_thread_group_that_they_stand_in() {
    let one = group(1, "2", &(data("a.csv", "a") + &data("b.csv", "b") + &sampler("/${a}", "")));
    let other = group(1, "2", &sampler("/${a}", ""));
    let (notes, one_of) = written(&(one.clone() + &other));
    let what =
        "the data of \"b.csv\" are left out: a journey has those of one file, here \"a.csv\"";
    assert_eq!(notes.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>(), [what]);
    for (text, count) in [("file = \"a.csv\"", 1), ("/{{row.a}}", 1), ("/{{env.A}}", 1)] {
        assert_eq!(one_of.matches(text).count(), count, "{text}\n{one_of}");
    }
    let (_, both) = written(&(data("a.csv", "a") + &other + &other));
    assert_eq!(both.matches("file = \"a.csv\"").count(), 2, "{both}");
}

#[test]
fn extractors_take_the_first_match_of_the_answer() {
    let json = |number: &str, scope: &str| {
        format!(
            "<JSONPostProcessor testname=\"j\"><stringProp name=\"JSONPostProcessor.referenceNames\">a;b</stringProp>\
             <stringProp name=\"JSONPostProcessor.jsonPathExprs\">$.a;$.b</stringProp>\
             <stringProp name=\"JSONPostProcessor.match_numbers\">{number}</stringProp>\
             <stringProp name=\"Sample.scope\">{scope}</stringProp></JSONPostProcessor><hashTree/>"
        )
    };
    let taken = "capture = { a = \"$.a\", b = \"$.b\" }";
    for (number, scope, notes, text) in [
        ("", "", 0, taken),
        ("1;0", "all", 0, taken),
        ("1;-1", "", 1, "capture = { a = \"$.a\" }"),
        ("", "variable", 1, "path = \"/a\""),
    ] {
        let (found, written) = written(&group(1, "1", &sampler("/a", &json(number, scope))));
        assert_eq!(found.len(), notes, "{number} {scope}: {found:?}");
        assert!(written.contains(text), "{text}\n{written}");
        assert_eq!(written.contains("capture"), text.starts_with("capture"), "{written}");
    }
}

#[test]
fn arguments_that_are_encoded_already_are_sent_as_they_stand() {
    let argument = |value: &str, encode: bool| {
        format!(
            "<elementProp name=\"q\"><boolProp name=\"HTTPArgument.always_encode\">{encode}</boolProp>\
             <stringProp name=\"Argument.name\">q</stringProp><stringProp name=\"Argument.value\">{value}</stringProp></elementProp>"
        )
    };
    let sampler = format!(
        "<HTTPSamplerProxy testname=\"s\"><elementProp name=\"HTTPsampler.Arguments\"><collectionProp name=\"Arguments.arguments\">{}{}\
         </collectionProp></elementProp><stringProp name=\"HTTPSampler.domain\">h</stringProp>\
         <boolProp name=\"HTTPSampler.image_parser\">true</boolProp></HTTPSamplerProxy><hashTree/>\
         <CookieManager testname=\"c\"><collectionProp name=\"CookieManager.cookies\"><elementProp name=\"sid\">\
         <stringProp name=\"Cookie.value\">s3cret-1</stringProp></elementProp></collectionProp></CookieManager><hashTree/>",
        argument("a%20b&amp;c=d", false),
        argument("a%20b", true)
    );
    let (notes, written) = written(&group(1, "1", &sampler));
    let what: Vec<_> = notes.iter().map(|(_, what)| what.as_str()).collect();
    assert_eq!(
        what,
        [
            "a cookie of the plan is left out: write it as a header field",
            "what the page embeds is not fetched"
        ]
    );
    assert!(written.contains("query = { q = [\"a b\", \"a%20b\"], c = \"d\" }"), "{written}");
    assert!(!written.contains("s3cret"), "{written}");
}

#[test]
fn files_outside_the_folder_are_left_out() {
    let body = "<HTTPSamplerProxy testname=\"s\"><elementProp name=\"HTTPsampler.Files\"><collectionProp name=\"HTTPFileArgs.files\">\
        <elementProp name=\"f\"><stringProp name=\"File.path\">/etc/passwd</stringProp></elementProp></collectionProp></elementProp>\
        <stringProp name=\"HTTPSampler.domain\">h</stringProp></HTTPSamplerProxy><hashTree/>\
        <CSVDataSet testname=\"c\"><stringProp name=\"filename\">../users.csv</stringProp></CSVDataSet><hashTree/>";
    let (notes, written) = written(&group(1, "1", body));
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(!written.contains("file ="), "{written}");
}

#[test]
fn deep_and_broken_plans_are_refused_or_cut() {
    let deep = |depth: usize| {
        "<GenericController><x/></GenericController><hashTree>".repeat(depth)
            + &sampler("/a", "")
            + &"</hashTree>".repeat(depth)
    };
    let (notes, _) = written(&group(1, "1", &deep(5_000)));
    assert!(notes.iter().any(|(_, what)| what.contains("deeper")), "{notes:?}");
    let nested = plan(&("<a>".repeat(300_000) + &"</a>".repeat(300_000)));
    assert!(read(&nested, &Options::default()).is_ok());
    let circle = "<Arguments><collectionProp name=\"Arguments.arguments\"><elementProp name=\"a\">\
        <stringProp name=\"Argument.name\">a</stringProp><stringProp name=\"Argument.value\">${a}${a}${a}</stringProp>\
        </elementProp></collectionProp></Arguments><hashTree/>";
    written(&group(1, "1", &(circle.to_owned() + &sampler("/${a}", ""))));
    for broken in ["<jmeterTestPlan>", "<a/>", "<jmeterTestPlan/>"] {
        assert!(read(broken, &Options::default()).unwrap_err().line.is_some(), "{broken}");
    }
    let entities = "<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><jmeterTestPlan>&e;</jmeterTestPlan>";
    assert!(read(entities, &Options::default()).is_err());
}

/// A plan of one request, whose address has these parts.
fn address(parts: &[(&str, &str)]) -> (String, String, usize) {
    let properties: String = parts
        .iter()
        .map(|(name, value)| {
            format!("<stringProp name=\"HTTPSampler.{name}\">{value}</stringProp>")
        })
        .collect();
    let sampler = format!(
        "<HTTPSamplerProxy testname=\"s\">{properties}<stringProp name=\"HTTPSampler.method\">GET</stringProp>\
         </HTTPSamplerProxy><hashTree/>"
    );
    let text = plan(&group(1, "1", &sampler));
    let draft = read(&text, &Options::default()).expect("a draft");
    let operation = &draft.operations[0];
    (operation.origin.clone(), operation.path.as_str().to_owned(), draft.notes.len())
}

#[test]
fn an_address_has_no_host_by_chance_and_a_protocol_that_is_one() {
    let of = |parts: &[(&str, &str)]| {
        let (origin, path, notes) = address(parts);
        (format!("{origin}{path}"), notes)
    };
    let shop = ("domain", "shop.example");
    assert_eq!(of(&[("path", "/cart/x")]).0, "http://127.0.0.1:8080/cart/x");
    for (protocol, expected, notes) in [
        ("HTTPS", "https://shop.example/a", 0),
        ("${__P(protocol,https)}", "https://shop.example/a", 0),
        ("${__P(protocol,${OTHER})}", "http://shop.example/a", 1),
        ("${PROTOCOL}", "http://shop.example/a", 1),
    ] {
        let found = of(&[("protocol", protocol), shop, ("path", "/a")]);
        assert_eq!(found, (expected.to_owned(), notes), "{protocol}");
    }
}

#[test]
fn the_default_of_a_secret_property_is_left_out() {
    let (_, path, _) =
        address(&[("domain", "h"), ("path", "/a/${__P(password,s3cret)}/${__P(item,7)}")]);
    assert_eq!(path, "/a/{{env.PASSWORD}}/7");
}
