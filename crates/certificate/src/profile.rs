//! The use-case profiles a certificate can follow.

/// The use-case profile a certificate follows. Contract 8.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Profile {
    /// `ee-health-certificate-driver`: the certificate of a driver of motor vehicles.
    Driver = 1,
    /// `ee-health-certificate-occupational`: the certificate of an occupational health examination.
    Occupational = 2,
}

impl Profile {
    /// Every profile, in the order of its byte.
    pub const ALL: [Profile; 2] = [Profile::Driver, Profile::Occupational];

    /// Last part of the profile's canonical address, behind `{profile_base}/StructureDefinition/`.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Driver => "ee-health-certificate-driver",
            Profile::Occupational => "ee-health-certificate-occupational",
        }
    }

    /// The profile that a byte of a stored row stands for; nothing for an unknown byte.
    pub fn from_byte(byte: u8) -> Option<Profile> {
        Profile::ALL.into_iter().find(|profile| *profile as u8 == byte)
    }
}
