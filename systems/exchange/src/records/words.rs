//! What the records are made of.

pub const FIRST_NAMES: [&str; 20] = [
    "Amelia", "Benjamin", "Chiara", "Dmitri", "Elena", "Farid", "Grace", "Hiroshi", "Ingrid",
    "Jonas", "Katarina", "Liam", "Mariana", "Nikolai", "Olivia", "Pedro", "Quentin", "Rosalind",
    "Santiago", "Theresa",
];

pub const LAST_NAMES: [&str; 20] = [
    "Anderson",
    "Bergstrom",
    "Castellano",
    "Dubois",
    "Eriksen",
    "Fitzgerald",
    "Gutierrez",
    "Hoffmann",
    "Ivanova",
    "Johansson",
    "Kowalski",
    "Lindqvist",
    "Montgomery",
    "Nakamura",
    "Okonkwo",
    "Petersen",
    "Rodriguez",
    "Schneider",
    "Takahashi",
    "Vasquez",
];

pub const STREETS: [&str; 10] = [
    "Maple Avenue",
    "Harbour Street",
    "Chestnut Lane",
    "Station Road",
    "Meadow Drive",
    "Cathedral Square",
    "Riverside Walk",
    "Mill Lane",
    "Orchard Road",
    "Observatory Hill",
];

/// City, state, country, latitude and longitude in ten-thousandths of a degree.
pub const PLACES: [(&str, &str, &str, i32, i32); 8] = [
    ("Springfield", "Illinois", "United States", 397_817, -896_501),
    ("Gothenburg", "Vastra Gotaland", "Sweden", 577_089, 119_746),
    ("Valparaiso", "Valparaiso", "Chile", -330_472, -716_127),
    ("Heidelberg", "Baden-Wuerttemberg", "Germany", 493_988, 86_724),
    ("Kanazawa", "Ishikawa", "Japan", 365_613, 1_366_562),
    ("Wellington", "Wellington", "New Zealand", -412_866, 1_747_756),
    ("Montpellier", "Occitanie", "France", 436_108, 38_767),
    ("Cape Town", "Western Cape", "South Africa", -339_249, 184_241),
];

pub const INTERESTS: [&str; 24] = [
    "photography",
    "hiking",
    "chess",
    "gardening",
    "astronomy",
    "cooking",
    "cycling",
    "painting",
    "sailing",
    "pottery",
    "birdwatching",
    "calligraphy",
    "rock climbing",
    "jazz",
    "woodworking",
    "running",
    "languages",
    "film",
    "swimming",
    "board games",
    "poetry",
    "travel",
    "baking",
    "history",
];

pub const DEGREES: [&str; 4] =
    ["Bachelor of Science", "Master of Science", "Bachelor of Arts", "Doctor of Philosophy"];

pub const MAJORS: [&str; 8] = [
    "Computer Science",
    "Applied Mathematics",
    "Electrical Engineering",
    "Physics",
    "Information Systems",
    "Statistics",
    "Cognitive Science",
    "Industrial Design",
];

pub const UNIVERSITIES: [&str; 6] = [
    "University of Northfield",
    "Lakeside Institute of Technology",
    "Harbour State University",
    "Polytechnic of the Isles",
    "Saint Brendan College",
    "Highland Technical University",
];

pub const COURSES: [&str; 20] = [
    "Algorithms",
    "Operating Systems",
    "Linear Algebra",
    "Databases",
    "Computer Networks",
    "Compilers",
    "Statistics",
    "Machine Learning",
    "Distributed Systems",
    "Cryptography",
    "Numerical Methods",
    "Human Factors",
    "Software Engineering",
    "Graph Theory",
    "Optics",
    "Signal Processing",
    "Queueing Theory",
    "Formal Methods",
    "Economics",
    "Technical Writing",
];

pub const COMPANIES: [&str; 10] = [
    "Northwind Systems",
    "Blue Heron Software",
    "Quarry Analytics",
    "Lantern Logistics",
    "Tidewater Robotics",
    "Copperfield Labs",
    "Meridian Health",
    "Granite Payments",
    "Juniper Maps",
    "Orchard Media",
];

pub const POSITIONS: [&str; 8] = [
    "Software Engineer",
    "Data Analyst",
    "Systems Administrator",
    "Product Manager",
    "Research Engineer",
    "Technical Lead",
    "Quality Engineer",
    "Solutions Architect",
];

pub const DUTIES: [&str; 6] = [
    "Built and ran the services that take in orders and hand them to the warehouses.",
    "Moved reports from nightly batches to a stream, and halved what they cost to make.",
    "Kept the machines of three sites patched, measured and within their budget.",
    "Led a team of five that wrote the mobile application and the interface behind it.",
    "Found out why pages were slow in the evening, and made them as fast as in the morning.",
    "Wrote the tests, the tools around them and the handbook that newcomers start with.",
];

pub const SKILLS: [&str; 32] = [
    "Rust",
    "Python",
    "Go",
    "TypeScript",
    "SQL",
    "Kubernetes",
    "Terraform",
    "PostgreSQL",
    "Redis",
    "Kafka",
    "Linux",
    "Git",
    "GraphQL",
    "gRPC",
    "React",
    "Docker",
    "Prometheus",
    "Ansible",
    "Bash",
    "C++",
    "Java",
    "Kotlin",
    "Swift",
    "Elixir",
    "Haskell",
    "NATS",
    "Nginx",
    "OpenTelemetry",
    "Spark",
    "Airflow",
    "Figma",
    "Excel",
];

pub const TIMEZONES: [&str; 6] = [
    "America/Chicago",
    "Europe/Stockholm",
    "America/Santiago",
    "Asia/Tokyo",
    "Pacific/Auckland",
    "Africa/Johannesburg",
];

pub const LANGUAGES: [&str; 6] = ["en", "sv", "es", "de", "ja", "fr"];

pub const THEMES: [&str; 3] = ["light", "dark", "system"];

/// Title and description.
pub const ACHIEVEMENTS: [(&str, &str); 6] = [
    ("Employee of the Year", "Chosen by colleagues of all departments for help given to others."),
    ("Best Paper", "A study of queues in front of shared resources, with data for all to use."),
    ("Hackathon Winner", "A map of accessible routes through the city, made in thirty hours."),
    ("Patent Granted", "A method to find out which of many sensors drifted, and by how much."),
    ("Marathon Finisher", "Forty-two kilometres along the coast in under four hours."),
    ("Volunteer Award", "Two hundred hours of lessons in programming at the public library."),
];

/// Name and description.
pub const PROJECTS: [(&str, &str); 6] = [
    ("Harbour Board", "Shows arrivals and departures of ferries, and warns when one is late."),
    ("Seed Library", "Lets gardeners lend seeds to each other, and reminds them of the harvest."),
    ("Quiet Streets", "Measures noise with old telephones, and draws where one sleeps well."),
    ("Open Ledger", "Keeps the accounts of small clubs, and makes the report that banks want."),
    ("Night Sky", "Says which planets can be seen tonight from where one stands, and when."),
    ("Paper Trail", "Reads scanned letters, and finds the one that nobody can find otherwise."),
];
