internal import BrumeModel

/// What only the server knows of those whom shares invite: whose a handle is.
extension Shard {
    /// A request of which those saves of shares fail that invite the owner, who saves them, by a handle of their own.
    /// The owner can't accept what is theirs, so the invitation would wait for ever, and count.
    ///
    /// Whoever else may save a share is not told: an administrator does not learn which handles the owner has.
    func refusingOwnInvitations(
        _ request: ModifyRecordsRequest<CheckedFields>, in database: DatabaseID, _ identity: Identity
    ) -> ModifyRecordsRequest<CheckedFields> {
        guard identity.owns(database), case .account(let name) = identity.role,
            let handles = server.accounts.account(named: name)?.handles, !handles.isEmpty
        else { return request }
        var request = request
        for zone in request.zones.indices {
            let refused = request.zones[zone].shares.filter { $0.value.edit.invites(anyOf: handles) }
            if refused.isEmpty { continue }
            for save in request.zones[zone].saves.indices where refused[request.zones[zone].saves[save].name] != nil {
                // What is wrong with the record itself is said first.
                if request.zones[zone].saves[save].fields.problem != nil { continue }
                request.zones[zone].saves[save].fields.problem = ShareEdit.ownerTakesPart
            }
        }
        return request
    }
}
