//! How bodies and index rows are compressed: zstd with a dictionary that ships with the binary.
//!
//! Dictionaries are numbered per store and never deleted, so that everything ever written stays readable.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Cursor;
use std::sync::{LazyLock, Mutex};

use zstd::zstd_safe::{CCtx, CDict, CParameter, DCtx, DDict};

use super::StoreError;
use crate::limits::COPY_RECORD_BYTES_MAX;

/// The dictionary new bodies are written with, trained on certificates of both profiles (`hcert generate`).
pub const SHIPPED: &[u8] = include_bytes!("../../../../../data/dictionary-1.zdict");

/// A dictionary made ready for both directions. There are as many as stores have ever named: one or two.
#[derive(Clone, Copy)]
pub struct Dictionary {
    compress: &'static CDict<'static>,
    expand: &'static DDict<'static>,
}

/// zstd level 3: with a dictionary, level 6 gains 2 % of size for five times the work.
const LEVEL: i32 = 3;

/// Makes a dictionary ready, once per process for each content.
///
/// # Errors
/// `Damaged` when the content is no dictionary.
pub fn dictionary(content: &[u8]) -> Result<Dictionary, StoreError> {
    static READY: LazyLock<Mutex<HashMap<Vec<u8>, Dictionary>>> = LazyLock::new(Mutex::default);
    let mut ready = READY.lock().expect("no holder of this lock can panic");
    if let Some(dictionary) = ready.get(content) {
        return Ok(*dictionary);
    }
    let made = CDict::try_create(content, LEVEL).zip(DDict::try_create(content));
    let (compress, expand) = made.ok_or_else(|| StoreError::Damaged("a dictionary is not readable".into()))?;
    let dictionary = Dictionary { compress: Box::leak(Box::new(compress)), expand: Box::leak(Box::new(expand)) };
    ready.insert(content.to_vec(), dictionary);
    Ok(dictionary)
}

thread_local! {
    static COMPRESS: RefCell<CCtx<'static>> = RefCell::new({
        let mut context = CCtx::create();
        for parameter in [CParameter::ChecksumFlag(true), CParameter::ContentSizeFlag(true), CParameter::DictIdFlag(false)] {
            context.set_parameter(parameter).expect("these are parameters of every zstd");
        }
        context
    });
    static EXPAND: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Compresses into one frame with a checksum.
pub fn compress(dictionary: Dictionary, raw: &[u8]) -> Vec<u8> {
    COMPRESS.with_borrow_mut(|context| {
        let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(raw.len()));
        context.ref_cdict(dictionary.compress).expect("a dictionary that was made ready fits");
        context.compress2(&mut frame, raw).expect("the buffer has the size zstd asks for");
        frame.shrink_to_fit();
        frame
    })
}

/// Expands a frame of `raw_bytes` bytes behind what `out` already holds.
pub fn expand(dictionary: Dictionary, frame: &[u8], raw_bytes: usize, out: &mut Vec<u8>) -> Result<(), StoreError> {
    // The frame says its length too, so a damaged header asks for no memory that nothing could fill.
    if zstd::zstd_safe::get_frame_content_size(frame).ok().flatten() != Some(raw_bytes as u64) {
        return Err(StoreError::Damaged(format!("a body lies in a frame that does not have its {raw_bytes} bytes")));
    }
    out.reserve(raw_bytes);
    // A cursor lets zstd write behind what is there, into memory that nobody has to clear first.
    let start = out.len() as u64;
    let mut behind = Cursor::new(std::mem::take(out));
    behind.set_position(start);
    let expanded =
        EXPAND.with_borrow_mut(|context| context.decompress_using_ddict(&mut behind, frame, dictionary.expand));
    *out = behind.into_inner();
    let written = expanded.map_err(|code| {
        StoreError::Damaged(format!("a body does not expand: {}", zstd::zstd_safe::get_error_name(code)))
    })?;
    if written == raw_bytes {
        Ok(())
    } else {
        Err(StoreError::Damaged(format!("a body has {written} bytes instead of {raw_bytes}")))
    }
}

/// Expands the frame of a row, whose header says how long it is.
pub fn expand_row(dictionary: Dictionary, frame: &[u8]) -> Result<Vec<u8>, StoreError> {
    let length = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten();
    let length =
        length.and_then(|length| usize::try_from(length).ok()).filter(|length| *length <= COPY_RECORD_BYTES_MAX);
    let length = length.ok_or_else(|| StoreError::Damaged("an index row is larger than any can be".into()))?;
    let mut row = Vec::new();
    expand(dictionary, frame, length, &mut row)?;
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_comes_back_behind_what_is_there_and_a_wrong_length_or_frame_is_told() {
        let dictionary = dictionary(SHIPPED).unwrap();
        let raw = "{\"title\":\"Tervisetõend\"}".repeat(40);
        let frame = compress(dictionary, raw.as_bytes());
        assert!(frame.len() < raw.len() / 2);
        let mut out = b"head".to_vec();
        expand(dictionary, &frame, raw.len(), &mut out).unwrap();
        assert_eq!(out, ["head", &raw].concat().as_bytes());
        for wrong in [0, raw.len() - 1, raw.len() + 1] {
            assert!(
                matches!(expand(dictionary, &frame, wrong, &mut Vec::new()), Err(StoreError::Damaged(_))),
                "{wrong}"
            );
        }
        let mut torn = frame.clone();
        let middle = torn.len() / 2;
        torn[middle] ^= 1;
        for frame in [&torn[..], &frame[..frame.len() - 1], b""] {
            assert!(matches!(expand(dictionary, frame, raw.len(), &mut Vec::new()), Err(StoreError::Damaged(_))));
        }
    }
}
