/// Requests to the shared database, whose zones belong to several users.
extension CKDatabase {
    /// Why the database can't have such a zone; nil for one that a request may name. A server refuses a request whole
    /// that names another, with all that is right in it, so it is not asked about such a zone.
    func problem(of zoneID: CKRecordZone.ID) -> String? { zoneID.nameProblem ?? ownerProblem(of: zoneID) }

    /// The same, without a look at the zone's name.
    func ownerProblem(of zoneID: CKRecordZone.ID) -> String? {
        if let problem = zoneID.ownerProblem { return problem }
        guard databaseScope == .shared else { return nil }
        if zoneID.ownerName == CKCurrentUserDefaultName || zoneID.ownerName == core.account.currentUser {
            return
                "the shared database holds other users' zones only; name the zone's owner, or use the private database"
        }
        return zoneID.isDefault ? "the shared database has no default zone" : nil
    }

    /// The items by the owners of their zones, in the order in which each owner comes first: the server takes a request
    /// for zones of one owner only. Outside of the shared database all zones are one user's.
    func partsByOwner<Item>(_ items: [Item], zone: (Item) -> CKRecordZone.ID) -> [[Item]] {
        guard databaseScope == .shared else { return items.isEmpty ? [] : [items] }
        var parts: [[Item]] = []
        var indices: [String: Int] = [:]
        for item in items {
            let owner = zone(item).ownerName
            if let index = indices[owner] {
                parts[index].append(item)
            } else {
                indices[owner] = parts.count
                parts.append([item])
            }
        }
        return parts
    }

    /// Sends the requests for several owners, one after the other.
    ///
    /// - Returns: The parts whose requests failed, where others succeeded.
    /// - Throws: What the first request failed with, when all of them failed.
    func sendEach<Part>(
        of parts: [Part], send: (Part) async throws(CKError) -> Void
    ) async throws(CKError) -> [(part: Part, error: CKError)] {
        var failures: [(part: Part, error: CKError)] = []
        for part in parts {
            do throws(CKError) {
                // The next request would fail with it, too, after as long a wait.
                if let failure = failures.last, failure.error.isOfEveryRequest { throw failure.error }
                try await send(part)
            } catch {
                failures.append((part, error))
            }
        }
        if let first = failures.first, failures.count == parts.count { throw first.error }
        return failures
    }
}
