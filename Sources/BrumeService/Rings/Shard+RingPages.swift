internal import BrumeEncryption
internal import BrumeModel
internal import BrumeStore

/// What a ring's next entry has to take into account. It is worked out each time, since users come and go without the
/// ring.
extension Shard {
    /// Entries of a ring, with who waits to be taken in, who takes part no more, and who has other keys.
    ///
    /// Guests are told to those alone who can take them in: a share shows its participants to those who manage it.
    func ringPage(
        _ request: FetchRingRequest, in loaded: LoadedDatabase, caller: Caller
    ) throws(ServiceError) -> RingPage {
        let database = loaded.database
        var page = try database.ringPage(request, for: caller)
        guard page.last > 0, let zone = database.incarnation(of: request.zone, for: caller),
            let last = database.rings.ring(ofZone: zone, root: request.root)[page.last]
        else { return page }
        try readKept("a ring, or a statement beside it,") { () throws(EncryptionRefusal) in
            let outline = try RingOutline(kept: last.array)
            let isAuthor =
                caller.user == database.id.owner || outline.others.contains { $0.user == caller.user && $0.isAuthor }
            var hashes: [String: [UInt8]] = [:]
            for member in outline.others {
                hashes[member.user] = member.statementHash
                if !database.takesPart(member.user, inRing: request.root, ofZone: zone) {
                    page.departed.append(member.user)
                }
                let isNewest = try loaded.ringHeads.userKeys.areNewest(
                    ofStatement: member.statementHash, of: member.user, inZone: zone, database.rings)
                if !isNewest { page.renewed.append(member.user) }
            }
            let owners = try loaded.ringHeads.keys(of: database.statements)
            if owners?.areNewest(ofStatement: outline.ownerStatementHash) != true {
                page.renewed.insert(database.id.owner, at: 0)
            }
            for var guest in database.rings.guests(ofZone: zone, root: request.root)
            where (isAuthor || guest.user == caller.user)
                && database.takesPart(guest.user, inRing: request.root, ofZone: zone)
            {
                if let hash = hashes[guest.user] {
                    let chains = try loaded.ringHeads.userKeys.chains(of: guest.user, inZone: zone, database.rings)
                    if chains.contains(where: { $0.keys(of: hash, areAsNewAs: guest.statementHash) }) { continue }
                }
                guest.mayWrite = database.mayWrite(guest.user, inRing: request.root, ofZone: zone)
                page.guests.append(guest)
            }
        }
        return page
    }
}
