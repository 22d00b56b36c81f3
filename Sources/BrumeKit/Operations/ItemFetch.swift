/// What an operation that fetches items by id, or all of them, is set up with.
struct ItemFetch<ID: Hashable, Item> {
    var ids: [ID]?
    var isForAll = false
    var fetched: ((ID, Result<Item, any Error>) -> Void)?
    var ended: ((Result<Void, any Error>) -> Void)?
    var allCompleted: (([ID: Item]?, (any Error)?) -> Void)?
}

extension Guarded {
    /// Fetches, and tells of each item and of the end.
    ///
    /// - Parameters:
    ///   - all: Gives all items, of which `id` gives the ids.
    ///   - some: Gives those that were asked for.
    func fetch<ID: Hashable, Item>(
        _ run: OperationRun, id: (Item) -> ID, all: () async throws(CKError) -> [Item],
        some: ([ID]) async throws(CKError) -> [ID: Result<Item, any Error>]
    ) async where Value == ItemFetch<ID, Item> {
        var ids = withoutRepetitions(self.ids ?? [])
        var results: [ID: Result<Item, any Error>] = [:]
        let failure = await run.attempt { () throws(CKError) in
            if self.isForAll {
                let items = try await all()
                ids = items.map(id)
                for item in items { results[id(item)] = .success(item) }
            } else {
                results = try await some(ids)
            }
        }
        var outcomes = ItemOutcomes<ID>(failure: failure)
        var items: [ID: Item] = [:]
        for id in ids {
            let result = outcomes.outcome(results[id], of: id)
            if case .success(let item) = result { items[id] = item }
            self.fetched?(id, result)
        }
        if let block = self.ended {
            block(outcomes.result)
        } else {
            self.allCompleted?(failure == nil ? items : nil, outcomes.error)
        }
    }
}
