internal import BrumeModel

extension PredicateTranslator {
    /// The key that stands for all words of a record in CloudKit's older predicates.
    private static let allTokens = "allTokens"

    /// `self CONTAINS "words"` and `allTokens TOKENMATCHES[cdl] "words"`; nil when the comparison is about something
    /// else.
    ///
    /// Case and diacritics never count in a search, so its options say nothing new.
    func search(_ comparison: PredicateComparison) throws(ServiceError) -> BrumeModel.Predicate? {
        let words: PredicateExpression
        let match: TextMatch
        switch comparison.type {
        case .contains where Self.isRecord(comparison.left): (words, match) = (comparison.right, .anyWord)
        case .in where Self.isRecord(comparison.right): (words, match) = (comparison.left, .anyWord)
        case .tokenMatches where Self.isRecord(comparison.left) || comparison.left == .keyPath(Self.allTokens):
            (words, match) = (comparison.right, .allWords)
        default: return nil
        }
        guard comparison.modifier == .direct else {
            throw refusal("a search for words takes no ANY; write self CONTAINS \"words\"")
        }
        guard case .string(let text) = try value(Self.withoutTokenize(words), "a search for words") else {
            throw refusal("a search for words takes a String; write self CONTAINS %@")
        }
        return .text(text, match)
    }

    private static func isRecord(_ expression: PredicateExpression) -> Bool {
        let expression = withoutTokenize(expression)
        return expression == .evaluatedObject
    }

    /// `tokenize:using:(words, "cdl")` is the words themselves: how they are cut is the server's rule.
    private static func withoutTokenize(_ expression: PredicateExpression) -> PredicateExpression {
        guard case .function(PredicateExpression.tokenizeFunction, let arguments) = expression, arguments.count == 2
        else {
            return expression
        }
        return arguments[0]
    }
}
