//! What is watched, one file each.

pub(super) mod backup;
pub(super) mod disk;
pub(super) mod door;
pub(super) mod registry;
pub(super) mod storage;
pub(super) mod tls;
pub(super) mod trail;

pub use backup::Backup;
pub use disk::Disk;
pub use door::Door;
pub use registry::Registry;
pub use storage::Storage;
pub use tls::Tls;
pub use trail::Trail;
