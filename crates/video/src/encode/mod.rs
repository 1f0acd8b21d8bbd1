//! Files of videos: GIF, animated PNG, a folder of PNG files, MP4.
//!
//! Frames are written one by one, so that memory holds one or, for the palette of a GIF, a few. A file is written under a
//! temporary name and renamed when it is whole.

mod apng;
mod gif;
#[cfg(feature = "mp4")]
mod mp4;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use pullback_core::files::NewFile;
use thiserror::Error;

use crate::look::{Bitmap, PictureSize};

/// A video that cannot be written.
#[derive(Debug, Error)]
pub enum EncodeError {
    /// The ending of the name is none of those that are known.
    #[error(
        "{}: a video is FILE.gif, FILE.apng, FILE.png (animated), FILE.mp4 or, for a folder of PNG files, FOLDER/", .0.display()
    )]
    Ending(PathBuf),
    /// The program was built without the encoder.
    #[error(
        "{}: MP4 is not built in; build the program by `cargo install --path crates/cli --features mp4`, or write a .gif \
         or .apng", .0.display()
    )]
    NotBuiltIn(PathBuf),
    /// A file cannot be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The encoder refuses.
    #[error("{}: {why}", path.display())]
    Encoder {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The encoder cannot have this size.
    #[error("{}: MP4 has even numbers of pixels along both sides, not {width} x {height}", path.display())]
    Odd {
        /// The file.
        path: PathBuf,
        /// Pixels along x.
        width: usize,
        /// Pixels along y.
        height: usize,
    },
}

/// A kind of video file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GIF: one palette of 256 colors; every browser and chat plays it.
    Gif,
    /// Animated PNG: all colors.
    Apng,
    /// A folder of PNG files.
    Frames,
    /// MP4 with H.264.
    Mp4,
}

impl Format {
    /// The format of a file, by its ending; a path that ends in `/`, or that is a folder, is a folder of PNG files.
    pub fn of(path: &Path) -> Result<Self, EncodeError> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
        let folder = path.to_string_lossy().ends_with(['/', '\\']) || path.is_dir();
        match ending.as_str() {
            _ if folder => Ok(Format::Frames),
            "gif" => Ok(Format::Gif),
            "apng" | "png" => Ok(Format::Apng),
            "mp4" if cfg!(feature = "mp4") => Ok(Format::Mp4),
            "mp4" => Err(EncodeError::NotBuiltIn(path.to_owned())),
            _ => Err(EncodeError::Ending(path.to_owned())),
        }
    }
}

/// A video on its way into a file.
pub struct VideoWriter {
    path: PathBuf,
    /// None of a folder.
    file: Option<NewFile>,
    encoder: Encoder,
    frames: usize,
}

enum Encoder {
    Gif(Box<gif::GifWriter>),
    Apng(Box<apng::ApngWriter>),
    Frames,
    #[cfg(feature = "mp4")]
    Mp4(Box<mp4::Mp4Writer>),
}

impl VideoWriter {
    /// Begins a video of so many frames, at so many per second; its format is that of the path's ending.
    pub fn create(path: &Path, size: PictureSize, fps: f64, frames: usize) -> Result<Self, EncodeError> {
        let format = Format::of(path)?;
        let failed = |source| EncodeError::Write { path: path.to_owned(), source };
        let folder = if format == Format::Frames { Some(path) } else { path.parent() };
        if let Some(folder) = folder.filter(|f| !f.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let (file, encoder) = match format {
            Format::Gif => {
                let (file, buffer) = begin(path)?;
                (Some(file), Encoder::Gif(Box::new(gif::GifWriter::new(buffer, size, fps))))
            }
            Format::Apng => {
                let (file, buffer) = begin(path)?;
                let writer = apng::ApngWriter::new(buffer, size, fps, frames);
                (Some(file), Encoder::Apng(Box::new(writer.map_err(|e| failed(e.into()))?)))
            }
            Format::Frames => (None, Encoder::Frames),
            #[cfg(feature = "mp4")]
            Format::Mp4 => {
                let (file, buffer) = begin(path)?;
                (Some(file), Encoder::Mp4(Box::new(mp4::Mp4Writer::new(path, buffer, size, fps)?)))
            }
            #[cfg(not(feature = "mp4"))]
            Format::Mp4 => return Err(EncodeError::NotBuiltIn(path.to_owned())),
        };
        Ok(VideoWriter { path: path.to_owned(), file, encoder, frames: 0 })
    }

    /// Adds a frame.
    pub fn add(&mut self, frame: &Bitmap) -> Result<(), EncodeError> {
        let number = self.frames;
        self.frames += 1;
        let failed = |source| EncodeError::Write { path: self.path.clone(), source };
        match &mut self.encoder {
            Encoder::Gif(writer) => writer.add(frame).map_err(failed),
            Encoder::Apng(writer) => writer.add(frame).map_err(|e| failed(e.into())),
            Encoder::Frames => save_png(&self.path.join(format!("{number:06}.png")), frame),
            #[cfg(feature = "mp4")]
            Encoder::Mp4(writer) => writer.add(&self.path, frame),
        }
    }

    /// Ends the file and gives it its name.
    pub fn finish(self) -> Result<(), EncodeError> {
        let VideoWriter { path, file, encoder, .. } = self;
        let failed = |source| EncodeError::Write { path: path.clone(), source };
        match encoder {
            Encoder::Frames => {}
            Encoder::Gif(writer) => writer.finish().map_err(failed)?,
            Encoder::Apng(writer) => writer.finish().map_err(|e| failed(e.into()))?,
            #[cfg(feature = "mp4")]
            Encoder::Mp4(writer) => writer.finish(&path)?,
        }
        file.map_or(Ok(()), |file| file.publish().map_err(failed))
    }
}

/// Writes one picture as a PNG file.
pub fn save_png(path: &Path, picture: &Bitmap) -> Result<(), EncodeError> {
    let failed = |source| EncodeError::Write { path: path.to_owned(), source };
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let (file, buffer) = begin(path)?;
    let size = PictureSize { width: picture.width, height: picture.height };
    let mut writer = apng::encoder(buffer, size).write_header().map_err(|e| failed(e.into()))?;
    writer.write_image_data(&picture.rgb).map_err(|e| failed(e.into()))?;
    writer.finish().map_err(|e| failed(e.into()))?;
    file.publish().map_err(failed)
}

/// A file that is not yet whole, and what writes to it.
fn begin(path: &Path) -> Result<(NewFile, BufWriter<File>), EncodeError> {
    let failed = |source| EncodeError::Write { path: path.to_owned(), source };
    let file = NewFile::create(path).map_err(failed)?;
    let buffer = BufWriter::new(file.handle().map_err(failed)?);
    Ok((file, buffer))
}
