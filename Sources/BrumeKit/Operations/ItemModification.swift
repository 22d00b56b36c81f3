/// What an operation that saves and deletes items is set up with.
struct ItemModification<ID: Hashable, Item> {
    typealias Results = (saveResults: [ID: Result<Item, any Error>], deleteResults: [ID: Result<Void, any Error>])

    var saves: [Item]?
    var deletions: [ID]?
    var saved: ((ID, Result<Item, any Error>) -> Void)?
    var deleted: ((ID, Result<Void, any Error>) -> Void)?
    var ended: ((Result<Void, any Error>) -> Void)?
    var allCompleted: (([Item]?, [ID]?, (any Error)?) -> Void)?
}

extension Guarded {
    /// Saves and deletes, and tells of each item and of the end.
    func modify<ID: Hashable, Item>(
        _ run: OperationRun, id: (Item) -> ID,
        send: (_ saves: [Item], _ deletions: [ID]) async throws(CKError) -> ItemModification<ID, Item>.Results
    ) async where Value == ItemModification<ID, Item> {
        let saves = self.saves ?? []
        let deletions = self.deletions ?? []
        var results: ItemModification<ID, Item>.Results = ([:], [:])
        let failure = await run.attempt { () throws(CKError) in results = try await send(saves, deletions) }
        var outcomes = ItemOutcomes<ID>(failure: failure)
        var savedItems: [Item] = []
        var deletedIDs: [ID] = []
        for item in saves {
            let result = outcomes.outcome(results.saveResults[id(item)], of: id(item))
            if case .success(let made) = result { savedItems.append(made) }
            self.saved?(id(item), result)
        }
        for id in deletions {
            let result = outcomes.outcome(results.deleteResults[id], of: id)
            if case .success = result { deletedIDs.append(id) }
            self.deleted?(id, result)
        }
        if let block = self.ended {
            block(outcomes.result)
        } else {
            let isWhole = failure == nil
            self.allCompleted?(isWhole ? savedItems : nil, isWhole ? deletedIDs : nil, outcomes.error)
        }
    }
}
