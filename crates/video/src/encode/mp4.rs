//! MP4 files with H.264, by OpenH264.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use muxide::api::{Muxer, MuxerBuilder, VideoCodec};
use openh264::OpenH264API;
use openh264::encoder::{BitRate, Encoder, EncoderConfig, FrameRate, FrameType};
use openh264::formats::{RgbSliceU8, YUVBuffer};

use super::EncodeError;
use crate::look::{Bitmap, PictureSize};

/// Bits for each pixel of a frame: enough for shading without blocks.
const BITS_PER_PIXEL: f64 = 0.25;

/// An MP4 file on its way.
pub(super) struct Mp4Writer {
    encoder: Encoder,
    muxer: Muxer<BufWriter<File>>,
    fps: f64,
    frames: usize,
}

fn failed(path: &Path, why: impl std::fmt::Display) -> EncodeError {
    EncodeError::Encoder { path: path.to_owned(), why: why.to_string() }
}

impl Mp4Writer {
    pub fn new(path: &Path, file: BufWriter<File>, size: PictureSize, fps: f64) -> Result<Self, EncodeError> {
        let PictureSize { width, height } = size;
        if width % 2 == 1 || height % 2 == 1 {
            return Err(EncodeError::Odd { path: path.to_owned(), width, height });
        }
        let bits = BITS_PER_PIXEL * (width * height) as f64 * fps;
        let config = EncoderConfig::new()
            .bitrate(BitRate::from_bps(bits as u32))
            .max_frame_rate(FrameRate::from_hz(fps as f32));
        let encoder = Encoder::with_api_config(OpenH264API::from_source(), config);
        let muxer = MuxerBuilder::new(file).video(VideoCodec::H264, width as u32, height as u32, fps).build();
        Ok(Mp4Writer {
            encoder: encoder.map_err(|e| failed(path, e))?,
            muxer: muxer.map_err(|e| failed(path, e))?,
            fps,
            frames: 0,
        })
    }

    pub fn add(&mut self, path: &Path, frame: &Bitmap) -> Result<(), EncodeError> {
        let rgb = RgbSliceU8::new(&frame.rgb, (frame.width, frame.height));
        let stream = self.encoder.encode(&YUVBuffer::from_rgb_source(rgb)).map_err(|e| failed(path, e))?;
        let whole = matches!(stream.frame_type(), FrameType::IDR | FrameType::I);
        let time = self.frames as f64 / self.fps;
        self.frames += 1;
        // The encoder may leave a frame out to keep its rate; the one before then stays longer.
        match stream.to_vec() {
            bytes if bytes.is_empty() => Ok(()),
            bytes => self.muxer.write_video(time, &bytes, whole).map_err(|e| failed(path, e)),
        }
    }

    pub fn finish(self, path: &Path) -> Result<(), EncodeError> {
        self.muxer.finish().map_err(|e| failed(path, e))
    }
}
