internal import BrumeEncryption
internal import BrumeModel
internal import BrumeProtocol

/// Finding the roots of shared trees by what encrypted values name.
extension EncryptedZones {
    /// The roots of shared trees in a zone of the account's own, by the trees' ids.
    ///
    /// A value names the tree that it was encrypted in, and no root can be worked out from that: a record may have left
    /// the tree since, by a move of what is above it. The server knows the roots of all rings. It can keep one back,
    /// and not name a wrong one: each has the id that was asked for.
    ///
    /// - Throws: What keeps from asking: no connection, for one.
    func roots(
        ofTrees ids: Set<[UInt8]>, in zone: ZoneRingID, at place: Place, for account: AccountBinding,
        _ options: CallOptions
    ) async throws(CKError) -> [[UInt8]: String] {
        let now = account.configuration.clock.nowMilliseconds
        var rest = Array(ids.subtracting(knownRootless(zone, at: now)))[...]
        var roots: [[UInt8]: String] = [:]
        while !rest.isEmpty {
            let part = rest.prefix(Limits.itemsPerRequest)
            rest = rest.dropFirst(part.count)
            let request = FindRingRootsRequest(zone: zone.zoneID, treeIDs: Array(part))
            do throws(CKError) {
                let found = try await account.call(.ringsFindRoots, options: options) { coder in
                    coder.encodeFindRingRootsRequest(request)
                } decode: { (coder, bytes) throws(ServiceError) in
                    try coder.decodeFindRingRootsResponse(bytes)
                }
                for root in found.prefix(part.count) where CKRecord.ID.problem(withName: root) == nil {
                    let id = Tree(place: place, root: root, kind: .isShared).id
                    if part.contains(id) { roots[id] = root }
                }
            } catch {
                if error.keepsFromAsking { throw error }
            }
        }
        let rootless = ids.subtracting(roots.keys)
        if !rootless.isEmpty { noteRootless(rootless, zone, at: now) }
        return roots
    }
}
