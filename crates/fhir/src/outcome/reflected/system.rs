//! The eleven systems whose errors are reflected.

/// Whose code it is, in the order of the specification, 7.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum System {
    /// The patient registry.
    Mpi,
    /// Microservice for the population register.
    XroadRr,
    /// Microservice for the address register.
    XroadAds,
    /// Microservice for the employment register.
    XroadTor,
    /// Microservice for the social insurance register.
    XroadSka,
    /// Microservice for the unemployment fund.
    XroadTk,
    /// Services of the population register.
    PopulationRegister,
    /// Services of the unemployment fund.
    UnemploymentFund,
    /// Services of the social insurance board.
    SocialInsurance,
    /// Address register of the land board.
    AddressRegister,
    /// Employment register of the tax and customs board.
    TaxCustoms,
}

impl System {
    /// All of them, in order.
    pub const ALL: [System; 11] = [
        System::Mpi,
        System::XroadRr,
        System::XroadAds,
        System::XroadTor,
        System::XroadSka,
        System::XroadTk,
        System::PopulationRegister,
        System::UnemploymentFund,
        System::SocialInsurance,
        System::AddressRegister,
        System::TaxCustoms,
    ];

    /// Name of the specification's placeholder, and of the setting that fills it.
    pub fn placeholder(self) -> &'static str {
        match self {
            System::Mpi => "issue_system_mpi",
            System::XroadRr => "issue_system_xroad_rr",
            System::XroadAds => "issue_system_xroad_ads",
            System::XroadTor => "issue_system_xroad_tor",
            System::XroadSka => "issue_system_xroad_ska",
            System::XroadTk => "issue_system_xroad_tk",
            System::PopulationRegister => "issue_system_population_register",
            System::UnemploymentFund => "issue_system_unemployment_fund",
            System::SocialInsurance => "issue_system_social_insurance",
            System::AddressRegister => "issue_system_address_register",
            System::TaxCustoms => "issue_system_tax_customs",
        }
    }
}

/// Addresses of the systems. Contract 1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueSystems([String; System::ALL.len()]);

impl IssueSystems {
    /// `address` tells the value of a setting of `[namespaces]` by its name.
    pub fn new(address: impl Fn(&str) -> String) -> IssueSystems {
        IssueSystems(System::ALL.map(|system| address(system.placeholder())))
    }

    /// Address of a system.
    pub fn of(&self, system: System) -> &str {
        &self.0[system as usize]
    }
}

impl Default for IssueSystems {
    /// Those of Contract 1.1.
    fn default() -> Self {
        IssueSystems(
            [
                "https://mpi.tehik.ee",
                "https://xroad-rr.tehik.ee",
                "https://xroad-ads.tehik.ee",
                "https://xroad-tor.tehik.ee",
                "https://xroad-ska.tehik.ee",
                "https://xroad-tk.tehik.ee",
                "https://rahvastikuregister.ee",
                "https://tootukassa.ee",
                "https://sotsiaalkindlustusamet.ee",
                "https://maaamet.ee",
                "https://emta.ee",
            ]
            .map(str::to_owned),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_has_its_own_address_and_setting() {
        let systems = IssueSystems::new(|setting| format!("https://example.ee/{setting}"));
        for system in System::ALL {
            assert_eq!(systems.of(system), format!("https://example.ee/{}", system.placeholder()));
            assert_eq!(System::ALL[system as usize], system);
        }
    }
}
