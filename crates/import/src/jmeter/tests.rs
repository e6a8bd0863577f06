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
