//! What is watched, one file each.

pub(super) mod backup;
pub(super) mod clock;
pub(super) mod connections;
pub(super) mod disk;
pub(super) mod files;
pub(super) mod http;
pub(super) mod log;
pub(super) mod management_address;
pub(super) mod memory;
pub(super) mod mode;
pub(super) mod registry;
pub(super) mod storage;
pub(super) mod tls;
pub(super) mod tokens;
pub(super) mod trail;

pub use backup::BackupPart;
pub use clock::ClockPart;
pub use connections::Connections;
pub use disk::DiskPart;
pub use files::FilesPart;
pub use http::HttpPart;
pub use log::LogOutput;
pub use management_address::ManagementAddress;
pub use memory::{MemoryLimit, MemorySum};
pub use mode::DeveloperMode;
pub use registry::RegistryPart;
pub use storage::StoragePart;
pub use tls::TlsPart;
pub use tokens::TokenKeys;
pub use trail::TrailPart;
