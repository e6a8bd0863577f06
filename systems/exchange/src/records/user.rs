//! One user record: its fields, and how they are drawn.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use serde::Serialize;

use super::words;

/// A user, with the fields in the order in which they are written.
#[derive(Debug, Serialize)]
pub(super) struct User {
    id: u64,
    first_name: &'static str,
    last_name: &'static str,
    email: String,
    age: u64,
    address: Address,
    phone: String,
    interests: [&'static str; 10],
    education: Education,
    work_experience: [Work; 2],
    skills: [&'static str; 16],
    created_at: String,
    updated_at: String,
    last_login: String,
    preferences: Preferences,
    social_media: SocialMedia,
    achievements: [Achievement; 2],
    projects: [Project; 1],
}

#[derive(Debug, Serialize)]
struct Address {
    street: String,
    city: &'static str,
    state: &'static str,
    postal_code: String,
    country: &'static str,
    coordinates: Coordinates,
}

/// In degrees.
#[derive(Debug, Serialize)]
struct Coordinates {
    latitude: f64,
    longitude: f64,
}

#[derive(Debug, Serialize)]
struct Education {
    degree: &'static str,
    major: &'static str,
    university: &'static str,
    graduation_year: u64,
    gpa: f64,
    courses: [&'static str; 8],
}

#[derive(Debug, Serialize)]
struct Work {
    company: &'static str,
    position: &'static str,
    location: &'static str,
    start_date: String,
    end_date: String,
    description: &'static str,
}

#[derive(Debug, Serialize)]
struct Preferences {
    theme: &'static str,
    language: &'static str,
    timezone: &'static str,
    newsletter: bool,
    notifications: Notifications,
}

#[derive(Debug, Serialize)]
struct Notifications {
    email: bool,
    sms: bool,
    push: bool,
}

#[derive(Debug, Serialize)]
struct SocialMedia {
    linkedin: String,
    github: String,
    mastodon: String,
    website: String,
}

#[derive(Debug, Serialize)]
struct Achievement {
    title: &'static str,
    description: &'static str,
    date: String,
}

#[derive(Debug, Serialize)]
struct Project {
    name: &'static str,
    description: &'static str,
    url: String,
    technologies: [&'static str; 4],
    start_date: String,
}

impl User {
    /// The user of this seed with this number.
    pub(super) fn new(seed: u64, id: u64) -> Self {
        let mut chance = UserDraws::new(seed, id);
        let (first_name, last_name) =
            (chance.one_of(&words::FIRST_NAMES), chance.one_of(&words::LAST_NAMES));
        let handle = format!("{first_name}.{last_name}{id}").to_lowercase();
        Self {
            id,
            first_name,
            last_name,
            email: format!("{handle}@example.com"),
            age: 18 + chance.below(62),
            address: Address::new(&mut chance),
            phone: format!("+1-555-{:03}-{:04}", chance.below(1_000), chance.below(10_000)),
            interests: chance.some_of(&words::INTERESTS),
            education: Education::new(&mut chance),
            work_experience: [(); 2].map(|()| Work::new(&mut chance)),
            skills: chance.some_of(&words::SKILLS),
            created_at: chance.instant(2018),
            updated_at: chance.instant(2022),
            last_login: chance.instant(2024),
            preferences: Preferences::new(&mut chance),
            social_media: SocialMedia {
                linkedin: format!("https://linkedin.example/in/{handle}"),
                github: format!("https://github.example/{handle}"),
                mastodon: format!("https://social.example/@{handle}"),
                website: format!("https://{}.example", handle.replace('.', "-")),
            },
            achievements: [(); 2].map(|()| Achievement::new(&mut chance)),
            projects: [Project::new(&mut chance)],
        }
    }
}

impl Address {
    fn new(chance: &mut UserDraws) -> Self {
        let (city, state, country, latitude, longitude) = chance.one_of(&words::PLACES);
        // Within some kilometres of the city's middle.
        let mut near = |middle: i32| {
            let away = chance.below(1_000) as i32 - 500;
            f64::from(middle + away) / 10_000.0
        };
        let coordinates = Coordinates { latitude: near(latitude), longitude: near(longitude) };
        let street = chance.one_of(&words::STREETS);
        Self {
            street: format!("{} {street}", 1 + chance.below(999)),
            city,
            state,
            postal_code: format!("{:05}", chance.below(100_000)),
            country,
            coordinates,
        }
    }
}

impl Education {
    fn new(chance: &mut UserDraws) -> Self {
        Self {
            degree: chance.one_of(&words::DEGREES),
            major: chance.one_of(&words::MAJORS),
            university: chance.one_of(&words::UNIVERSITIES),
            graduation_year: 1_980 + chance.below(44),
            gpa: (200 + chance.below(200)) as f64 / 100.0,
            courses: chance.some_of(&words::COURSES),
        }
    }
}

impl Work {
    fn new(chance: &mut UserDraws) -> Self {
        Self {
            company: chance.one_of(&words::COMPANIES),
            position: chance.one_of(&words::POSITIONS),
            location: chance.one_of(&words::PLACES).0,
            start_date: chance.date(2_008),
            end_date: chance.date(2_014),
            description: chance.one_of(&words::DUTIES),
        }
    }
}

impl Preferences {
    fn new(chance: &mut UserDraws) -> Self {
        Self {
            theme: chance.one_of(&words::THEMES),
            language: chance.one_of(&words::LANGUAGES),
            timezone: chance.one_of(&words::TIMEZONES),
            newsletter: chance.below(2) == 1,
            notifications: Notifications {
                email: chance.below(2) == 1,
                sms: chance.below(2) == 1,
                push: chance.below(2) == 1,
            },
        }
    }
}

impl Achievement {
    fn new(chance: &mut UserDraws) -> Self {
        let (title, description) = chance.one_of(&words::ACHIEVEMENTS);
        Self { title, description, date: chance.date(2_015) }
    }
}

impl Project {
    fn new(chance: &mut UserDraws) -> Self {
        let (name, description) = chance.one_of(&words::PROJECTS);
        let technologies = chance.some_of(&words::SKILLS);
        let url = format!("https://projects.example/{}", name.to_lowercase().replace(' ', "-"));
        Self { name, description, url, technologies, start_date: chance.date(2_016) }
    }
}

/// Draws of one user, from a named generator: records of a seed are the same next year.
struct UserDraws(SplitMix64);

impl UserDraws {
    fn new(seed: u64, number: u64) -> Self {
        let start = SplitMix64::seed_from_u64(seed).next_u64();
        Self(SplitMix64::seed_from_u64(start ^ number))
    }

    /// One of the numbers from 0 up to `end`, which is small, without it.
    fn below(&mut self, end: u64) -> u64 {
        ((self.0.next_u64() >> 32) * end) >> 32
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    /// So many of them, each at most once, in their order.
    fn some_of<const N: usize>(&mut self, all: &[&'static str]) -> [&'static str; N] {
        let mut left = all.iter().enumerate();
        let mut wanted = N as u64;
        [(); N].map(|()| {
            loop {
                let (number, one) = left.next().expect("there are more than are wanted");
                if self.below((all.len() - number) as u64) < wanted {
                    wanted -= 1;
                    break *one;
                }
            }
        })
    }

    /// A day within six years from this one on.
    fn date(&mut self, year: u64) -> String {
        let (year, month, day) = (year + self.below(6), 1 + self.below(12), 1 + self.below(28));
        format!("{year}-{month:02}-{day:02}")
    }

    /// A second within two years from this one on.
    fn instant(&mut self, year: u64) -> String {
        let (year, month, day) = (year + self.below(2), 1 + self.below(12), 1 + self.below(28));
        let (hour, minute, second) = (self.below(24), self.below(60), self.below(60));
        format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}
