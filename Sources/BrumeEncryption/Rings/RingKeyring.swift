/// The keys of one ring that this device has.
package struct RingKeyring: Sendable {
    /// By number.
    package private(set) var keys: [UInt32: SecretKey] = [:]
    /// A tree's own keys from while it was private, by the number of the zone's key.
    package private(set) var treeKeys: [UInt32: SecretKey] = [:]
    /// Those that no later entry hands on to whoever has its key alone.
    private(set) var unsharedNumbers: Set<UInt32> = []
    let headHash: [UInt8]
    private let headNumber: UInt32

    /// The key that new values take; nil where it is missing: nothing is written with an older one, which somebody who
    /// was dropped may have.
    package var current: (key: SecretKey, number: UInt32)? { keys[headNumber].map { ($0, headNumber) } }

    /// Opens what can be opened, from the newest entry back, so that boxes are opened for those keys alone that no
    /// later entry hands on.
    init(_ chain: RingChain, box: (SignedRingEntry) -> SecretKey?) {
        headHash = chain.head.hash
        headNumber = chain.head.number
        func entry(_ number: UInt32) -> RingEntry? {
            chain.entries.indices.contains(Int(number) - 1) ? chain.entries[Int(number) - 1].entry : nil
        }
        for signed in chain.entries.reversed() {
            let number = signed.entry.number
            let handedOn = keys[number]
            guard let key = handedOn ?? box(signed) else { continue }
            // From a box a key is taken only with its earlier ones: an author who has others miss them is not
            // followed. One that somebody handed on is read with all the same.
            guard
                let earlier = try? RingKeySeals.openEarlier(
                    signed.entry, before: entry(number - 1), key: key, entryNumbered: entry)
            else { continue }
            keys[number] = key
            if handedOn == nil, number != headNumber { unsharedNumbers.insert(number) }
            keys.merge(earlier.ringKeys) { known, _ in known }
            treeKeys.merge(earlier.treeKeys) { newer, _ in newer }
        }
    }
}
