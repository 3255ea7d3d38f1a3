//! Names as people in Estonia bear them, for people who do not exist.

#[rustfmt::skip]
pub const FEMALE: &[&str] = &[
    "Õie", "Ülle", "Äli", "Mari", "Liis", "Kätlin", "Žanna", "Sirje", "Tiina", "Anneli", "Reet", "Kristiina", "Küllike",
    "Heli", "Maarja", "Piret", "Jelena", "Natalja", "Olga", "Svetlana", "Merle", "Krõõt", "Mai-Liis", "Eha", "Virve", "Helve", "Aino",
    "Saara", "Hanna-Liisa", "Johanna", "Triin", "Kadri", "Evelin", "Pille-Riin", "Õnnela", "Käthe", "Ingrid", "Lea",
    "Malle", "Ene", "Ljudmila", "Veera", "Birgit", "Grete", "Laura", "Mirjam", "Nele", "Urve", "Vaike", "Viivi", "Loviise", "Elo",
];

#[rustfmt::skip]
pub const MALE: &[&str] = &[
    "Tõnu", "Jüri", "Mihkel", "Andres", "Priit", "Urmas", "Ülo", "Väino", "Õnnelo", "Märt", "Rein", "Toomas", "Jaan", "Peeter", "Aivar",
    "Aleksandr", "Sergei", "Vladimir", "Dmitri", "Igor", "Kristjan", "Karl-Erik", "Rasmus", "Oskar", "Hugo", "Sten", "Siim", "Raul",
    "Taavi", "Tarmo", "Kalev", "Heino", "Endel", "Arvo", "Villu", "Lembit", "Ivo", "Gert", "Mattias", "Hendrik", "Jürgen", "Kaspar",
    "Mairold", "Nikolai", "Žorž", "Šamil", "Viktor", "Uku", "Tanel", "Erki", "Argo", "Veljo", "Ahto", "Ott",
];

#[rustfmt::skip]
pub const FAMILY: &[&str] = &[
    "Tamm", "Saar", "Sepp", "Mägi", "Smirnov", "Vasiliev", "Petrov", "Kask", "Kukk", "Kuznetsov", "Rebane", "Ilves", "Mihhailov",
    "Pärn", "Pavlov", "Semjonov", "Koppel", "Andrejev", "Luik", "Kaasik", "Lepik", "Oja", "Raudsepp", "Kuusk", "Karu", "Fjodorov",
    "Nikolajev", "Kütt", "Põder", "Vaher", "Popov", "Stepanov", "Volkov", "Moroz", "Lepp", "Koval", "Kivi", "Kallas", "Mõttus",
    "Kozlov", "Järv", "Sokolov", "Grigorjev", "Hein", "Kruus", "Rüütel", "Mölder", "Jõgi", "Õunapuu", "Õispuu", "Ööpik", "Übius",
    "Ümarik", "Äärma", "Žukov", "Žilin", "Šults", "Šapošnikov", "Suvorov", "Teder", "Tomson", "Uibo", "Valk", "Võsu", "Laas", "Kõiv",
    "Käär", "Lõhmus", "Lääne", "Mets", "Männik", "Nõmm", "Org", "Paju", "Pihlak", "Põldma", "Pääsuke", "Raud", "Roos", "Rätsep",
    "Saks", "Soosaar", "Särg", "Süld", "Tõnisson", "Täht", "Uustalu", "Vahtra", "Vares", "Viira", "Väli", "Kaljuvee", "Kesküla",
    "Härm", "Hõimre", "Jürgenson", "Allikmäe", "Aasmäe", "Eensalu", "Kirsipuu", "Leppänen", "Liivamägi", "Mänd", "Niinepuu",
    "Orav", "Peterson", "Pürg", "Rõõm", "Tuisk", "Türk", "Vesik", "Zimmermann", "Zirk", "Wiik", "Weiler",
];
