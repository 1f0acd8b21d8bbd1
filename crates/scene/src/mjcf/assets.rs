//! What geoms refer to by name: meshes and terrain, and where their files are.

use std::path::PathBuf;

use super::ImportOptions;
use super::hfield::HeightfieldTable;
use super::mesh::MeshTable;
use super::settings::Compiler;

/// The assets of a model, loaded as geoms ask for them.
pub(super) struct Assets {
    pub meshes: MeshTable,
    pub heightfields: HeightfieldTable,
}

impl Assets {
    pub fn new(options: &ImportOptions) -> Self {
        Assets { meshes: MeshTable::new(options), heightfields: HeightfieldTable::default() }
    }
}

/// The path of an asset's file: `strippath`, then `meshdir` or `assetdir`, then the folder of the model.
pub(super) fn locate(
    file: &str,
    asset_folder: &str,
    compiler: &Compiler,
    folder: Option<&PathBuf>,
) -> PathBuf {
    let file = if compiler.strip_path { file.rsplit(['/', '\\']).next().unwrap_or(file) } else { file };
    let relative = PathBuf::from(asset_folder).join(file);
    folder.map(|f| f.join(&relative)).unwrap_or(relative)
}
