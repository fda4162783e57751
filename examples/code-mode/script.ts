// What a model writes in code mode: the body of an async function. Only what it returns comes back to the model.
// The types are for the model's own good; they are blanked out before the script runs.

type Order = { id: string; due: string; customer: string; product: string; quantity: string; status: string };
type Customer = { id: string; name: string; currency: string };

const API = "http://127.0.0.1:8378";
const TODAY = "2026-03-01";
const LEAST = 50_000; // cents

function parse(csv: string): Order[] {
  const [head, ...lines] = csv.trim().split("\n").map((line) => line.split(","));
  return lines.map((cells) => Object.fromEntries(head.map((name, at) => [name, cells[at]])) as Order);
}

async function get<T>(path: string): Promise<T> {
  const { value } = await tools.web.get_json({ url: API + path });
  return value as T;
}

// Twenty files at once: the host runs as many together as it allows, and the rest after them.
const { entries } = await tools.files.list({ path: "orders" });
const files = await Promise.all(entries.map((entry) => tools.files.read({ path: `orders/${entry.name}` })));
const overdue = files
  .flatMap((file) => parse(file.content))
  .filter((order) => order.status !== "paid" && order.due < TODAY);

// Each customer once, and only those who matter.
const ids = [...new Set(overdue.map((order) => order.customer))];
const [prices, ...customers] = await Promise.all([
  get<Record<string, number>>("/prices/EUR"),
  ...ids.map((id) => get<Customer>(`/customers/${id}`)),
]);
const known = new Map(customers.map((customer) => [customer.id, customer]));

const owing = new Map<string, { customer: string; orders: number; cents: number }>();
for (const order of overdue) {
  const { name, currency } = known.get(order.customer)!;
  const cents = Number(order.quantity) * prices[order.product];
  if (currency !== "EUR" || cents < LEAST) continue;
  const sum = owing.get(name) ?? { customer: name, orders: 0, cents: 0 };
  owing.set(name, { ...sum, orders: sum.orders + 1, cents: sum.cents + cents });
}
return [...owing.values()].sort((a, b) => b.cents - a.cents);
