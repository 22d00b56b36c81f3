extension Predicate {
    /// What CloudKit itself refuses in this predicate although Brume accepts it, or nil (Documentation/CloudKit.md,
    /// Queries): OR, and NOT before an AND, a text search, a distance or a BETWEEN.
    ///
    /// For users who want to know that their queries work with CloudKit too. The tree's depth has to be bounded: the
    /// function recurses.
    package func problemUnderCloudKitRules() -> ServiceError? {
        switch self {
        case .constant, .comparison, .between, .isIn, .anyElement, .anyElementIsIn, .text, .distance:
            return nil
        case .and(let operands):
            for operand in operands {
                if let problem = operand.problemUnderCloudKitRules() { return problem }
            }
            return nil
        case .or:
            return Self.refusal("has no OR; use IN for several values of one key, or several queries")
        case .not(let operand):
            if let construct = operand.whatNotCannotNegate {
                return Self.refusal("has no NOT before \(construct.name); \(construct.advice)")
            }
            return operand.problemUnderCloudKitRules()
        }
    }

    private static func refusal(_ sentence: String) -> ServiceError {
        ServiceError(.invalidArguments, "CloudKit's query language, which this server is set to, \(sentence)")
    }

    private var whatNotCannotNegate: (name: String, advice: String)? {
        switch self {
        case .and: ("AND", "negate each part by itself, in a query of its own")
        case .text: ("a search for words", "leave those records out of the results")
        case .distance: ("a distance", "leave the near records out of the results")
        case .between: ("BETWEEN", "ask with < or > for each side")
        case .constant, .comparison, .isIn, .anyElement, .anyElementIsIn, .or, .not: nil
        }
    }
}
