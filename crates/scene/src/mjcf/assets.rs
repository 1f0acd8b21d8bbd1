//! What geoms refer to by name: meshes, terrain and looks, and where their files are.

use std::path::{Component, PathBuf};

use super::ImportOptions;
use super::hfield::HeightfieldTable;
use super::mesh::MeshTable;
use super::settings::Compiler;
use super::visual::Looks;

/// The assets of a model, loaded as geoms ask for them.
pub(super) struct Assets {
    pub meshes: MeshTable,
    pub heightfields: HeightfieldTable,
    pub looks: Looks,
}

impl Assets {
    pub fn new(options: &ImportOptions) -> Self {
        Assets {
            meshes: MeshTable::new(options),
            heightfields: HeightfieldTable::new(options),
            looks: Looks::new(options),
        }
    }
}

/// The path of an asset's file: `strippath`, then the folder of its kind of asset, then that of the model.
pub(super) fn locate(file: &str, asset_folder: &str, compiler: &Compiler) -> PathBuf {
    let file = if compiler.strip_path { file.rsplit(['/', '\\']).next().unwrap_or(file) } else { file };
    let relative = PathBuf::from(asset_folder).join(file);
    without_dots(compiler.folder.as_ref().map(|f| f.join(&relative)).unwrap_or(relative))
}

/// The path with `..` taken as text, as MuJoCo does; what a link points to does not matter.
fn without_dots(path: PathBuf) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        let back = part == Component::ParentDir
            && matches!(plain.components().next_back(), Some(Component::Normal(_)));
        if back {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}
