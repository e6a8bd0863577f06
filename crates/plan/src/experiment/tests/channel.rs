//! The address of a shared-memory channel: a path and no other keys.

use super::*;

fn with(target: &str) -> String {
    let text = HOME.replace("http = { path = \"/\" }", "shm = { body = \"x\" }");
    text.replace("url = \"http://127.0.0.1:8080\"", target)
}

#[test]
fn a_channel_is_named_by_the_path_of_its_socket() {
    for (url, path) in [
        ("shm:///run/users.shm", "/run/users.shm"),
        ("shm://beside.shm", "beside.shm"),
        ("shm:///run/a folder/users.shm", "/run/a folder/users.shm"),
    ] {
        let target = plan(&with(&format!("url = \"{url}\""))).arms[0].targets[0].clone();
        assert_eq!(target.url, url);
        assert_eq!(target.channel(), Some(Path::new(path)));
    }
    let text = with("url = \"http://127.0.0.1:8080\"");
    let own = text.replace("name = \"home\"", "name = \"home\"\ntarget = \"shm:///run/own.shm\"");
    assert_eq!(plan(&own).arms[0].targets[0].channel(), Some(Path::new("/run/own.shm")));
    let astray = read(&text, &Options::default()).unwrap_err();
    for told in ["an operation of `shm` goes to http://", "another protocol", "begins with shm://"]
    {
        assert!(astray.contains(told), "{told}: {astray}");
    }
}

#[test]
fn a_system_that_we_start_says_where_its_channel_is() {
    let text = with("").replace("[target]", "[system]\nserve = \"truth\"\n#");
    let target = plan(&text).arms[0].targets[0].clone();
    assert_eq!(target.url, "shm://{system.shm}");
}

#[test]
fn what_is_wrong_with_a_channel_is_told_with_its_place() {
    let refused = |target: &str| read(&with(target), &Options::default()).unwrap_err();
    let empty = refused("url = \"shm://\"");
    assert!(empty.contains("expected the path of a Unix socket"), "{empty}");
    let beside = refused("url = \"shm:///run/a.shm\"\nunix_socket = \"/b\"\ninsecure = false");
    for key in ["unix_socket", "insecure"] {
        assert!(beside.contains(&format!("`{key}` has no effect on a channel")), "{beside}");
    }
    assert_eq!(beside.matches("remove this").count(), 2, "{beside}");
}
