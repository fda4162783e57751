//! The shop: orders, customers and prices, the same in every run, and what is overdue in them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// What day it is.
pub const TODAY: &str = "2026-03-01";
/// The currency that is asked about.
pub const CURRENCY: &str = "EUR";
/// The smallest amount that is asked about, in cents.
pub const LEAST: u64 = 50_000;
const FILES: usize = 20;
const ORDERS_PER_FILE: usize = 10;
const CURRENCIES: [&str; 4] = ["EUR", "GBP", "USD", "CHF"];
const CITIES: [&str; 6] = ["Ancona", "Bilbao", "Cork", "Dubrovnik", "Esbjerg", "Gdynia"];
const NAMES: [&str; 24] = [
    "Aalto Paper",
    "Barca Foods",
    "Cervo Optics",
    "Dorn and Sons",
    "Elba Salt",
    "Fjord Nets",
    "Gallo Wines",
    "Hansa Rope",
    "Istria Oils",
    "Jura Clocks",
    "Kiel Paints",
    "Lagan Linen",
    "Malta Stone",
    "Nantes Cocoa",
    "Oder Glass",
    "Porto Cork",
    "Quimper Tin",
    "Rhodos Sponge",
    "Skagen Tools",
    "Tallinn Felt",
    "Umbria Clay",
    "Varna Roses",
    "Wexford Boats",
    "Zadar Lamps",
];

/// Everything that the shop knows.
pub struct Shop {
    orders: Vec<Order>,
    customers: Vec<Customer>,
    /// Cents by product.
    prices: BTreeMap<String, u64>,
}

/// A line of a file.
pub struct Order {
    id: String,
    placed: String,
    due: String,
    customer: usize,
    product: String,
    quantity: u64,
    status: &'static str,
    reference: u64,
}

struct Customer {
    id: String,
    name: &'static str,
    currency: &'static str,
    city: &'static str,
    number: u64,
}

/// What one customer owes: the line of a summary.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
pub struct Owing {
    /// Their name.
    pub customer: String,
    /// How many orders.
    pub orders: u64,
    /// How much, in cents.
    pub cents: u64,
}

impl Shop {
    /// The shop of this example.
    #[must_use]
    pub fn new() -> Self {
        let mut dice = Dice(20_260_301);
        let customers: Vec<Customer> = NAMES
            .iter()
            .enumerate()
            .map(|(at, name)| Customer {
                id: format!("C{at:02}"),
                name,
                currency: CURRENCIES[dice.below(CURRENCIES.len())],
                city: CITIES[dice.below(CITIES.len())],
                number: 1_000 + dice.below(9_000) as u64,
            })
            .collect();
        let prices: BTreeMap<String, u64> = (0..12)
            .map(|at| (format!("P{at:02}"), 900 + 50 * dice.below(100) as u64))
            .collect();
        let order = |at| Order {
            id: format!("A{:04}", 4_000 + at),
            placed: format!("2026-01-{:02}", 1 + dice.below(28)),
            due: format!("2026-{:02}-{:02}", 2 + dice.below(2), 1 + dice.below(28)),
            customer: dice.below(NAMES.len()),
            product: format!("P{:02}", dice.below(12)),
            quantity: 1 + dice.below(60) as u64,
            status: ["open", "paid", "reminded"][dice.below(3)],
            reference: 100_000 + dice.below(900_000) as u64,
        };
        let orders = (0..FILES * ORDERS_PER_FILE).map(order).collect();
        Self {
            orders,
            customers,
            prices,
        }
    }

    /// The files of orders: path and content.
    #[must_use]
    pub fn files(&self) -> Vec<(String, String)> {
        let file = |(at, orders): (usize, &[Order])| {
            let mut text = "id,placed,due,customer,product,quantity,status,reference\n".to_owned();
            for order in orders {
                let Order {
                    id,
                    placed,
                    due,
                    customer,
                    product,
                    quantity,
                    status,
                    reference,
                } = order;
                let customer = &self.customers[*customer].id;
                text += &format!(
                    "{id},{placed},{due},{customer},{product},{quantity},{status},{reference}\n"
                );
            }
            (format!("orders/part-{at:02}.csv"), text)
        };
        self.orders
            .chunks(ORDERS_PER_FILE)
            .enumerate()
            .map(file)
            .collect()
    }

    /// What the API answers to a path.
    #[must_use]
    pub fn answer(&self, path: &str) -> Option<Value> {
        if path == format!("/prices/{CURRENCY}") {
            return Some(json!(self.prices));
        }
        let id = path.strip_prefix("/customers/")?;
        let customer = self.customers.iter().find(|customer| customer.id == id)?;
        let Customer {
            id,
            name,
            currency,
            city,
            number,
        } = customer;
        Some(json!({
            "id": id, "name": name, "currency": currency, "number": number, "terms_days": 30, "blocked": false,
            "address": {"street": format!("Harbour Road {}", number % 90), "city": city},
            "contact": {"name": "Accounts", "mail": format!("accounts@{}.example", id.to_lowercase())},
        }))
    }

    /// Customers with an order that is overdue: those who have to be looked up.
    #[must_use]
    pub fn late(&self) -> Vec<&str> {
        let mut late: Vec<usize> = self.overdue().map(|order| order.customer).collect();
        late.sort_unstable();
        late.dedup();
        late.into_iter()
            .map(|at| self.customers[at].id.as_str())
            .collect()
    }

    /// The orders that count, each with its customer's name and its cents.
    #[must_use]
    pub fn counted(&self) -> Vec<(&str, &str, u64)> {
        let priced = self.overdue().map(|order| {
            let customer = &self.customers[order.customer];
            (
                order,
                customer,
                order.quantity * self.prices[&order.product],
            )
        });
        priced
            .filter(|(_, customer, cents)| customer.currency == CURRENCY && *cents >= LEAST)
            .map(|(order, customer, cents)| (order.id.as_str(), customer.name, cents))
            .collect()
    }

    /// What both agents have to find: who owes most first.
    #[must_use]
    pub fn owing(&self) -> Vec<Owing> {
        let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (_, name, cents) in self.counted() {
            let sum = sums.entry(name).or_default();
            *sum = (sum.0 + 1, sum.1 + cents);
        }
        let owing = |(name, (orders, cents)): (&str, (u64, u64))| Owing {
            customer: name.to_owned(),
            orders,
            cents,
        };
        let mut all: Vec<Owing> = sums.into_iter().map(owing).collect();
        all.sort_by_key(|owing| std::cmp::Reverse(owing.cents));
        all
    }

    fn overdue(&self) -> impl Iterator<Item = &Order> {
        self.orders
            .iter()
            .filter(|order| order.status != "paid" && order.due.as_str() < TODAY)
    }
}

impl Default for Shop {
    fn default() -> Self {
        Self::new()
    }
}

/// Numbers that look thrown, and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}
