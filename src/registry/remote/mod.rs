use super::{Ask, Caller, Failed, Told};
pub struct Remote;
impl Remote {
    pub async fn ask(&self, _ask: &Ask, _caller: &Caller) -> Result<Told, Failed> {
        Ok(Told::default())
    }
}

impl Remote {
    pub fn new(_: &crate::config::Remote) -> Result<Remote, String> {
        Ok(Remote)
    }
}
