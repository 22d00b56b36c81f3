/// Does something for each item, a few at a time, and begins them in their order.
///
/// - Parameters:
///   - limit: How many are under way at a time.
///   - ends: Whether an error concerns all items: then those under way are cancelled, and no other begins.
/// - Returns: The outcomes by the items' places: of those that began, except the ones that were cancelled. And the
///   error that concerns all.
func outcomes<Item: Sendable, Answer: Sendable>(
    of items: [Item], atATime limit: Int, endingAt ends: (CKError) -> Bool = \.isOfEveryRequest,
    _ body: @escaping @Sendable (Item) async throws(CKError) -> Answer
) async -> (outcomes: [Result<Answer, CKError>?], failure: CKError?) {
    @Sendable func outcome(of item: Item) async -> Result<Answer, CKError> {
        do throws(CKError) {
            return .success(try await body(item))
        } catch {
            return .failure(error)
        }
    }
    if items.count == 1 {
        let outcome = await outcome(of: items[0])
        if case .failure(let error) = outcome, ends(error) { return ([nil], error) }
        return ([outcome], nil)
    }
    return await withTaskGroup(of: (Int, Result<Answer, CKError>).self) { group in
        var next = 0
        func begin() {
            let place = next
            next += 1
            group.addTask { (place, await outcome(of: items[place])) }
        }
        while next < min(limit, items.count) { begin() }
        var outcomes = [Result<Answer, CKError>?](repeating: nil, count: items.count)
        var failure: CKError?
        while let (place, outcome) = await group.next() {
            if case .failure(let error) = outcome, ends(error) {
                failure = failure ?? error
                group.cancelAll()
            } else {
                outcomes[place] = outcome
            }
            if failure == nil, next < items.count { begin() }
        }
        return (outcomes, failure)
    }
}
