internal import BrumeRandom
internal import BrumeModel

/// Predicates by chance, over the fields that devices save: `w` a number, `t` and `c` texts, `l` texts, `up` a
/// reference.
enum RandomPredicate {
    static let colours = ["red", "green", "red green", "blue"]
    static let labels = ["a", "b", "c"]

    static func make(_ generator: inout SeededGenerator, depth: Int = 0) -> Predicate {
        if depth < 2, generator.oneIn(4) {
            let operands = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                make(&generator, depth: depth + 1)
            }
            return generator.oneIn(2) ? .and(operands) : .or(operands)
        }
        if depth < 2, generator.oneIn(6) { return .not(make(&generator, depth: depth + 1)) }
        return term(&generator)
    }

    private static func term(_ generator: inout SeededGenerator) -> Predicate {
        let number = FieldValue.int64(Int64.random(in: 0...800, using: &generator))
        let colour = generator.pick(colours)
        let comparison = generator.pick([ComparisonOperator.less, .lessOrEqual, .greater, .greaterOrEqual, .notEqual])
        switch Int.random(in: 0..<11, using: &generator) {
        case 0, 1: return .constant(true)
        case 2: return .comparison(.field("w"), comparison, number)
        case 3:
            let low = Int64.random(in: 0...400, using: &generator)
            return .between(.field("w"), .int64(low), .int64(low + 400))
        case 4: return .comparison(.field("c"), generator.pick([.equal, .notEqual]), .string(colour))
        case 5: return .comparison(.field("c"), .beginsWith, .string(String(colour.prefix(2))))
        case 6: return .isIn(.field("c"), [.string("blue"), .string(colour)])
        case 7: return .anyElement(.field("l"), .equal, .string(generator.pick(labels)))
        case 8: return .text(colour, generator.pick([.anyWord, .allWords]))
        case 9:
            return .comparison(
                .field("up"), .equal,
                .reference(Reference(recordName: generator.pick(SimulatedDevice.recordNames), deletesSelf: false)))
        default:
            let names = SimulatedDevice.recordNames.shuffled(using: &generator)[..<4]
            return .isIn(.recordID, names.map { .reference(Reference(recordName: $0, deletesSelf: false)) })
        }
    }

    static func searchesText(_ predicate: Predicate) -> Bool {
        switch predicate {
        case .text: true
        case .and(let operands), .or(let operands): operands.contains(where: searchesText)
        case .not(let operand): searchesText(operand)
        default: false
        }
    }

    /// Fields of the app that a predicate names.
    static func fields(of predicate: Predicate) -> Set<String> {
        switch predicate {
        case .constant, .text: []
        case .comparison(let key, _, _), .between(let key, _, _), .isIn(let key, _), .anyElement(let key, _, _),
            .anyElementIsIn(let key, _), .distance(let key, _, _, _, _):
            if case .field(let name) = key { [name] } else { [] }
        case .and(let operands), .or(let operands): operands.reduce(into: []) { $0.formUnion(fields(of: $1)) }
        case .not(let operand): fields(of: operand)
        }
    }
}
