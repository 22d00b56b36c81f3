package import BrumeModel
package import CBrumeProto

/// Converts between ``Predicate`` and the flat list of nodes that is `brume.v1.Predicate`: in queries, in query
/// subscriptions, and in what the journal keeps of those.
///
/// Neither direction recurses, so that deep nesting costs no stack.
extension MessageArena {
    package func predicate(_ predicate: Predicate) -> Pointer<Brume__V1__Predicate> {
        var nodes: [Pointer<Brume__V1__PredicateNode>] = []
        var pending = [predicate]
        while let next = pending.popLast() {
            let node = make(brume__v1__predicate_node__init)
            nodes.append(node)
            switch next {
            case .and(let operands):
                node.pointee.kind_case = BRUME__V1__PREDICATE_NODE__KIND_AND
                node.pointee.and_ = UInt32(operands.count)
                pending.append(contentsOf: operands.reversed())
            case .or(let operands):
                node.pointee.kind_case = BRUME__V1__PREDICATE_NODE__KIND_OR
                node.pointee.or_ = UInt32(operands.count)
                pending.append(contentsOf: operands.reversed())
            case .not(let operand):
                node.pointee.kind_case = BRUME__V1__PREDICATE_NODE__KIND_NOT
                node.pointee.not_ = 1
                pending.append(operand)
            default:
                term(next, into: node)
            }
        }
        let message = make(brume__v1__predicate__init)
        message.pointee.n_nodes = nodes.count
        message.pointee.nodes = messages(nodes) { $0 }
        return message
    }
}

extension Predicate {
    /// The predicate of a message, checked: its size, its shape, and each term's key and values.
    package init(_ message: UnsafeMutablePointer<Brume__V1__Predicate>?) throws(ServiceError) {
        guard let message, message.pointee.n_nodes > 0 else {
            throw ServiceError(
                .invalidArguments, "a query has no predicate; for all records of the type send the constant true")
        }
        try Self.checkSize(message)
        var reader = PredicateReader()
        for index in 0..<message.pointee.n_nodes {
            let following = message.pointee.n_nodes - index - 1
            if let whole = try reader.read(message.pointee.nodes[index]!, following: following) {
                guard following == 0 else {
                    throw ServiceError(
                        .invalidArguments,
                        "a predicate has \(following) nodes behind its end; send one tree, each node before its operands"
                    )
                }
                self = whole
                return
            }
        }
        throw ServiceError(
            .invalidArguments,
            "a predicate ends before its operands are complete; send each operand behind its AND, OR or NOT")
    }

    private static func checkSize(_ message: UnsafeMutablePointer<Brume__V1__Predicate>) throws(ServiceError) {
        let nodes = message.pointee.n_nodes
        guard nodes <= Limits.predicateNodes else {
            throw ServiceError(
                .limitExceeded,
                "a predicate has \(nodes) nodes; the limit is \(Limits.predicateNodes): use IN, or several queries")
        }
        let bytes = packedSize(message)
        guard bytes <= Limits.predicateBytes else {
            throw ServiceError(
                .limitExceeded,
                "a predicate has \(bytes) bytes; the limit is \(Limits.predicateBytes): split its lists over several queries"
            )
        }
    }
}

/// Builds a tree from its nodes in preorder.
private struct PredicateReader {
    private enum Connective {
        case and, or, not
    }

    /// An AND, OR or NOT that still lacks operands.
    private struct OpenNode {
        package let connective: Connective
        package let operandCount: Int
        package var operands: [Predicate] = []

        package func closed() -> Predicate {
            switch connective {
            case .and: .and(operands)
            case .or: .or(operands)
            case .not: .not(operands[0])
            }
        }
    }

    /// The open nodes from the root to the place of the next node.
    private var path: [OpenNode] = []
    private var size = PredicateSize()

    /// Reads one node. Returns the whole tree when the node completes it.
    ///
    /// - Parameter following: The number of nodes after this one: it can't have more operands.
    package mutating func read(
        _ node: UnsafeMutablePointer<Brume__V1__PredicateNode>, following: Int
    ) throws(ServiceError) -> Predicate? {
        size.depth = max(size.depth, path.count + 1)
        switch node.pointee.kind_case {
        case BRUME__V1__PREDICATE_NODE__KIND_AND: try open(.and, Int(node.pointee.and_), following)
        case BRUME__V1__PREDICATE_NODE__KIND_OR: try open(.or, Int(node.pointee.or_), following)
        case BRUME__V1__PREDICATE_NODE__KIND_NOT:
            guard node.pointee.not_ != 0 else {
                throw ServiceError(.invalidArguments, "a predicate has a NOT that is set to false; set it to true")
            }
            try open(.not, 1, following)
        default:
            let term = try Predicate(term: node, size: &size)
            return try complete(term)
        }
        if let problem = size.problem { throw problem }
        // A node without operands is complete.
        return path[path.count - 1].operandCount == 0 ? try complete(path.removeLast().closed()) : nil
    }

    private mutating func open(_ connective: Connective, _ count: Int, _ following: Int) throws(ServiceError) {
        guard count <= following else {
            throw ServiceError(
                .invalidArguments,
                "a predicate's node has \(count) operands, but \(following) nodes follow; send each operand behind it")
        }
        path.append(OpenNode(connective: connective, operandCount: count))
    }

    /// Adds a complete part to its parent node, which may then be complete as well.
    private mutating func complete(_ part: Predicate) throws(ServiceError) -> Predicate? {
        if let problem = size.problem { throw problem }
        var part = part
        while !path.isEmpty {
            path[path.count - 1].operands.append(part)
            guard path[path.count - 1].operands.count == path[path.count - 1].operandCount else { return nil }
            part = path.removeLast().closed()
        }
        return part
    }
}
