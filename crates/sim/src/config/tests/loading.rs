//! Paths without a file, paths that are no files, and files that are no text.

use std::fs;
use std::path::PathBuf;

use super::*;

/// A directory of one test, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("lasthop-config-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn refused(path: PathBuf) -> Diagnostic {
    load_file(path).unwrap_err().0.remove(0)
}

#[test]
fn a_file_is_loaded_under_its_name() {
    let scratch = Scratch::new("good");
    let path = scratch.file("umts.toml", GOOD.as_bytes());
    let doc = load_file(&path).unwrap();
    assert_eq!(doc.name(), path.display().to_string());
    assert!(doc.read::<Spec>().is_ok());
}

#[test]
fn for_a_missing_file_the_near_one_is_suggested() {
    let scratch = Scratch::new("missing");
    scratch.file("umts-vegas.toml", b"");
    let error = refused(scratch.0.join("umts-vegsa.toml"));
    assert_eq!(error.message, "there is no such file");
    assert!(error.help.unwrap().ends_with("umts-vegas.toml`?"));
    assert!(refused(scratch.0.join("umts-vegas")).help.unwrap().ends_with("umts-vegas.toml`?"));
    assert_eq!(refused(scratch.0.join("lte.toml")).help, None);
    let error = refused(scratch.0.join("none").join("a.toml"));
    assert!(error.help.unwrap().starts_with("there is no directory `"));
}

#[test]
fn for_a_directory_the_configurations_in_it_are_suggested() {
    let scratch = Scratch::new("directory");
    scratch.file("b.toml", b"");
    scratch.file("a.toml", b"");
    scratch.file("c.txt", b"");
    let error = refused(scratch.0.clone());
    assert_eq!(error.message, "this is a directory, not a file");
    assert_eq!(error.help.unwrap(), "it holds `a.toml`, `b.toml`");
}

#[test]
fn a_large_file_is_not_read_whole() {
    let scratch = Scratch::new("large");
    let path = scratch.file("large.toml", b"");
    fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(refused(path).message, "the file is larger than 16 MiB");
}

#[cfg(unix)]
#[test]
fn a_path_that_is_no_file_is_refused_without_waiting() {
    assert_eq!(refused(PathBuf::from("/dev/zero")).message, "this is not a regular file");
}

#[test]
fn a_file_that_is_not_utf8_is_refused_at_the_byte() {
    let scratch = Scratch::new("latin");
    let error = refused(scratch.file("a.toml", b"a = 1\nname = \"caf\xe9\"\n"));
    assert_eq!(error.message, "the byte 0xE9 is not UTF-8");
    assert_eq!((error.line, error.column), (Some(2), Some(12)));
    let error = refused(scratch.file("b.toml", b"\xff\xfea\0"));
    assert_eq!(error.message, "the file is written in UTF-16");
}
