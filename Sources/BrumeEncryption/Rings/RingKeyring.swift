/// The keys of one ring that this device has.
package struct RingKeyring: Sendable {
    /// By number.
    package private(set) var keys: [UInt32: SecretKey] = [:]
    /// A tree's own keys from while it was private, by the number of the zone's key.
    package private(set) var treeKeys: [UInt32: SecretKey] = [:]
    private let headNumber: UInt32

    /// The key that new values take; nil where it is missing: nothing is written with an older one, which somebody who
    /// was dropped may have.
    package var current: (key: SecretKey, number: UInt32)? { keys[headNumber].map { ($0, headNumber) } }

    /// Opens what can be opened, from the newest entry back, so that boxes are opened for those keys alone that no
    /// later entry hands on.
    init(_ chain: RingChain, box: (SignedRingEntry) -> SecretKey?) {
        headNumber = chain.head.number
        for signed in chain.entries.reversed() {
            let entry = signed.entry
            if keys[entry.number] == nil { keys[entry.number] = box(signed) }
            guard let key = keys[entry.number], let earlier = try? RingKeySeals.openEarlier(entry, key: key) else {
                continue
            }
            for (number, key) in earlier.ringKeys where keys[number] == nil && number < entry.number {
                // An author can write any bytes here: a key is what its own entry committed to.
                let committed = chain.entries[Int(number - chain.entries[0].entry.number)].entry
                if RingKeySeals.commits(committed, to: key) { keys[number] = key }
            }
            treeKeys.merge(earlier.treeKeys) { newer, _ in newer }
        }
    }
}
