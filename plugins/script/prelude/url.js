// `URL` and `URLSearchParams`. What is said of URLs, Rust says; here are the classes.
(natives) => {
    const { urlParse, urlPart, urlReplace, queryPairs, queryText } = natives;
    const NewTypeError = TypeError;
    const { iterator, toStringTag } = Symbol;
    const text = (value) => `${value}`;

    class URLSearchParams {
        // Names and values, in turn.
        #pairs = [];
        #changed = null;
        constructor(init) {
            if (init === undefined || init === null) return;
            if (typeof init !== "object" && typeof init !== "function") {
                const query = text(init);
                this.#pairs = queryPairs(query[0] === "?" ? query.slice(1) : query);
            } else if (typeof init[iterator] === "function") {
                for (const pair of init) {
                    const [name, value, ...more] = pair;
                    if (pair.length < 2 || more.length > 0) throw new NewTypeError("Each query pair must be an iterable [name, value] tuple");
                    this.#pairs.push(text(name), text(value));
                }
            } else {
                for (const name of Object.keys(init)) this.#pairs.push(name, text(init[name]));
            }
        }
        /** The parameters of a URL, which tell it when they change. */
        static of(query, changed) {
            const params = new URLSearchParams();
            params.#pairs = queryPairs(query);
            params.#changed = changed;
            return params;
        }
        /** The URL has another query now. */
        static reread(params, query) {
            params.#pairs = queryPairs(query);
        }
        #tell() {
            this.#changed?.(this.toString());
        }
        get size() {
            return this.#pairs.length / 2;
        }
        append(name, value) {
            this.#pairs.push(text(name), text(value));
            this.#tell();
        }
        delete(name, value) {
            const kept = [];
            for (let i = 0; i < this.#pairs.length; i += 2) {
                const goes = this.#pairs[i] === text(name) && (value === undefined || this.#pairs[i + 1] === text(value));
                if (!goes) kept.push(this.#pairs[i], this.#pairs[i + 1]);
            }
            this.#pairs = kept;
            this.#tell();
        }
        get(name) {
            for (let i = 0; i < this.#pairs.length; i += 2) if (this.#pairs[i] === text(name)) return this.#pairs[i + 1];
            return null;
        }
        getAll(name) {
            const found = [];
            for (let i = 0; i < this.#pairs.length; i += 2) if (this.#pairs[i] === text(name)) found.push(this.#pairs[i + 1]);
            return found;
        }
        has(name, value) {
            for (let i = 0; i < this.#pairs.length; i += 2) {
                if (this.#pairs[i] === text(name) && (value === undefined || this.#pairs[i + 1] === text(value))) return true;
            }
            return false;
        }
        set(name, value) {
            const kept = [];
            let isSet = false;
            for (let i = 0; i < this.#pairs.length; i += 2) {
                if (this.#pairs[i] !== text(name)) kept.push(this.#pairs[i], this.#pairs[i + 1]);
                else if (!isSet) {
                    kept.push(this.#pairs[i], text(value));
                    isSet = true;
                }
            }
            if (!isSet) kept.push(text(name), text(value));
            this.#pairs = kept;
            this.#tell();
        }
        sort() {
            const pairs = [...this];
            pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
            this.#pairs = pairs.flat();
            this.#tell();
        }
        forEach(callback, self) {
            for (const [name, value] of this) callback.call(self, value, name, this);
        }
        *entries() {
            for (let i = 0; i < this.#pairs.length; i += 2) yield [this.#pairs[i], this.#pairs[i + 1]];
        }
        *keys() {
            for (let i = 0; i < this.#pairs.length; i += 2) yield this.#pairs[i];
        }
        *values() {
            for (let i = 0; i < this.#pairs.length; i += 2) yield this.#pairs[i + 1];
        }
        [iterator]() {
            return this.entries();
        }
        toString() {
            return queryText(this.#pairs);
        }
        get [toStringTag]() {
            return "URLSearchParams";
        }
    }
    const { of, reread } = URLSearchParams;
    delete URLSearchParams.of;
    delete URLSearchParams.reread;

    class URL {
        #href;
        #params = null;
        constructor(url, base) {
            this.#href = base === undefined ? urlParse(text(url)) : urlParse(text(url), text(base));
        }
        static parse(url, base) {
            try {
                return new URL(url, base);
            } catch {
                return null;
            }
        }
        static canParse(url, base) {
            return URL.parse(url, base) !== null;
        }
        #put(name, value) {
            this.#href = urlReplace(this.#href, name, text(value));
            if (this.#params !== null && name === "search") reread(this.#params, urlPart(this.#href, "search").slice(1));
        }
        get href() { return this.#href; }
        set href(value) {
            this.#href = urlParse(text(value));
            if (this.#params !== null) reread(this.#params, urlPart(this.#href, "search").slice(1));
        }
        get origin() { return urlPart(this.#href, "origin"); }
        get protocol() { return urlPart(this.#href, "protocol"); }
        set protocol(value) { this.#put("protocol", value); }
        get username() { return urlPart(this.#href, "username"); }
        set username(value) { this.#put("username", value); }
        get password() { return urlPart(this.#href, "password"); }
        set password(value) { this.#put("password", value); }
        get host() { return urlPart(this.#href, "host"); }
        set host(value) { this.#put("host", value); }
        get hostname() { return urlPart(this.#href, "hostname"); }
        set hostname(value) { this.#put("hostname", value); }
        get port() { return urlPart(this.#href, "port"); }
        set port(value) { this.#put("port", value); }
        get pathname() { return urlPart(this.#href, "pathname"); }
        set pathname(value) { this.#put("pathname", value); }
        get search() { return urlPart(this.#href, "search"); }
        set search(value) { this.#put("search", value); }
        get hash() { return urlPart(this.#href, "hash"); }
        set hash(value) { this.#put("hash", value); }
        get searchParams() {
            this.#params ??= of(urlPart(this.#href, "search").slice(1), (query) => {
                this.#href = urlReplace(this.#href, "search", query);
            });
            return this.#params;
        }
        toString() { return this.#href; }
        toJSON() { return this.#href; }
        get [toStringTag]() { return "URL"; }
    }

    for (const [name, value] of Object.entries({ URL, URLSearchParams })) {
        Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
    }
}
