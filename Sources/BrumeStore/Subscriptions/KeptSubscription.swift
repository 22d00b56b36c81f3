package import BrumeModel

/// A subscription as a database keeps it: immutable, and shared by whoever looks at it.
package final class KeptSubscription: Sendable {
    package let subscription: Subscription
    /// Bytes of its texts.
    package let textBytes: Int
    /// About the bytes of its predicate, encoded.
    let predicateBytes: Int

    package init(_ subscription: Subscription) {
        self.subscription = subscription
        textBytes = subscription.textByteCount
        predicateBytes =
            if case .query(let query) = subscription.kind { query.predicate.approximateBytes } else { 0 }
    }

    /// The user record name in the public database; empty in a private one.
    package var owner: String { subscription.owner }

    var query: QuerySubscription? {
        if case .query(let query) = subscription.kind { return query }
        return nil
    }

    /// The name of the one zone that it is about; nil when it is about all of them.
    var zoneName: String? {
        switch subscription.kind {
        case .zone(let zone, _): zone.name
        case .query(let query): query.zone?.name
        case .database: nil
        }
    }

    /// About what it takes in memory: a tree, and its forms for matching, take some ten times its encoding.
    var approximateBytes: Int { 1024 + textBytes + 10 * predicateBytes }
}

extension Predicate {
    /// About the bytes of its encoding. For trees whose depth is bounded: it recurses.
    var approximateBytes: Int {
        switch self {
        case .constant: 4
        case .comparison(let key, _, let value), .anyElement(let key, _, let value):
            key.approximateBytes + value.approximateBytes
        case .between(let key, let low, let high):
            key.approximateBytes + low.approximateBytes + high.approximateBytes
        case .isIn(let key, let values), .anyElementIsIn(let key, let values):
            values.reduce(key.approximateBytes) { $0 + $1.approximateBytes }
        case .text(let words, _): 8 + words.utf8.count
        case .distance(let key, _, _, _, _): key.approximateBytes + 27
        case .and(let operands), .or(let operands): operands.reduce(4) { $0 + $1.approximateBytes }
        case .not(let operand): 4 + operand.approximateBytes
        }
    }
}

extension QueryKey {
    fileprivate var approximateBytes: Int {
        if case .field(let name) = self { return 12 + name.utf8.count }
        return 12
    }
}

extension FieldValue {
    fileprivate var approximateBytes: Int {
        switch self {
        case .string(let text): 4 + text.utf8.count
        case .bytes(let bytes): 4 + bytes.count
        case .reference(let reference): 8 + reference.recordName.utf8.count
        case .location: 76
        case .strings(let texts): texts.reduce(4) { $0 + 4 + $1.utf8.count }
        case .bytesList(let list): list.reduce(4) { $0 + 4 + $1.count }
        case .references(let references): references.reduce(4) { $0 + 8 + $1.recordName.utf8.count }
        case .locations(let locations): 4 + 76 * locations.count
        case .int64s(let numbers): 4 + 10 * numbers.count
        case .doubles(let numbers), .dates(let numbers): 4 + 8 * numbers.count
        case .int64, .double, .date, .emptyList: 10
        case .asset: 64
        case .assets(let assets): 4 + 64 * assets.count
        case .encrypted(let value): 4 + value.bytes.count
        }
    }
}
