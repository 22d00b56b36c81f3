internal import BrumeRecord

/// What an evaluation that stops within a record keeps: the terms that are decided, and its place in a list.
struct EvaluationNotes {
    private var truths: [Truth?]
    /// The list that is read, and the result of its elements so far.
    private var list: (node: Int, rest: StoredList, result: Truth)?

    init(nodeCount: Int) {
        truths = [Truth?](repeating: nil, count: nodeCount)
    }

    func truth(at node: Int) -> Truth? { truths[node] }

    mutating func set(_ truth: Truth, at node: Int) { truths[node] = truth }

    mutating func keep(_ rest: StoredList, _ result: Truth, at node: Int) { list = (node, rest, result) }

    /// Where the term's list was left, if that is where the evaluation stopped.
    mutating func takeList(at node: Int) -> (StoredList, Truth)? {
        guard let list, list.node == node else { return nil }
        self.list = nil
        return (list.rest, list.result)
    }
}
