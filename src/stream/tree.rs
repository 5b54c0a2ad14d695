//! The files in a folder and in the folders below it.

use super::operands::Input;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file, or `-`, as the one input it is; a folder as the files anywhere below it that are `wanted`, in byte
/// order of their paths. What is a symbolic link to a folder is not entered.
///
/// A folder below that cannot be read is handed to `failed` and left out.
///
/// # Errors
/// The operand itself cannot be read.
pub fn files(
    operand: Input,
    wanted: impl Fn(&Path) -> bool,
    failed: impl FnMut(&Path, io::Error),
) -> io::Result<Vec<Input>> {
    match operand {
        Input::File(path) if fs::metadata(&path)?.is_dir() => {
            Ok(folder(&path, wanted, failed)?.into_iter().map(Input::File).collect())
        }
        file => Ok(vec![file]),
    }
}

/// The same of what is a folder.
///
/// # Errors
/// It is none, or cannot be read.
pub fn folder(
    root: &Path,
    wanted: impl Fn(&Path) -> bool,
    mut failed: impl FnMut(&Path, io::Error),
) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = list(root)?;
    while let Some((path, is_folder)) = folders.pop() {
        if is_folder {
            match list(&path) {
                Ok(more) => folders.extend(more),
                Err(error) => failed(&path, error),
            }
        } else if wanted(path.strip_prefix(root).unwrap_or(&path)) {
            found.push(path);
        }
    }
    found.sort_unstable_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    Ok(found)
}

/// What stands in a folder, and whether it is a folder itself.
fn list(folder: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    fs::read_dir(folder)?
        .map(|entry| {
            let entry = entry?;
            Ok((entry.path(), entry.file_type()?.is_dir()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_its_files_in_order_and_a_link_no_way_in() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b/2.x", "b/1.x", "b/1.y", "b.x", "a/c/deep.x"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink(dir.path(), dir.path().join("loop")).unwrap();
        let wanted = |path: &Path| path.extension().is_some_and(|ext| ext == "x");
        let names = |operand: &Path| -> Vec<String> {
            let found = files(Input::from(operand.to_owned()), wanted, |_, _| {}).unwrap();
            found
                .iter()
                .map(|input| input.to_string().replace(&format!("{}/", dir.path().display()), ""))
                .collect()
        };
        assert_eq!(names(dir.path()), ["a/c/deep.x", "b.x", "b/1.x", "b/2.x"]);
        assert_eq!(names(&dir.path().join("b/1.y")), ["b/1.y"], "an operand is wanted");
        assert_eq!(names(Path::new("-")), ["-"]);
        assert!(files(Input::File(dir.path().join("gone")), wanted, |_, _| {}).is_err());
    }
}
